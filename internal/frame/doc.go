// Package frame is what is drawn: cells, styles and grids of them, and the writer
// that turns the difference between two grids into the fewest terminal bytes.
// Panes, chrome and tests all compose into a Grid. It knows no emulator, no
// event loop and no colour theme.
package frame
