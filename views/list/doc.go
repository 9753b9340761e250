// Package list is a cursor and a scroll position over rows somebody else draws. It
// promises that the cursor row is always inside the window. It draws nothing.
package list
