// Package field is one line of editable text. It keeps the exact text, also where
// what it holds cannot be drawn as it is, and shows such characters escaped.
package field
