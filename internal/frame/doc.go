// Package frame is what is drawn: cells, styles and grids of them, the Writer that
// turns the difference between two grids into the fewest terminal bytes, and the
// Terminal those bytes go to, with the promise to give it back as it was. Panes,
// chrome and tests all compose into a Grid. It never imports an emulator, an event
// loop or a colour theme.
package frame
