// Package pane draws one pane: its title bar, and below it the program's screen, the
// steps of a launch, or what is left of an ended session. It also owns copy mode.
// The program's cells are drawn as they are; every other text of the guest reaches
// this package sanitised.
package pane
