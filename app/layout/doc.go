// Package layout is where panes are on the screen: a tree of splits turned into
// rectangles, as pure functions. It promises that the rectangles and the lines
// between them tile the area exactly. It knows nothing of what a pane is.
package layout
