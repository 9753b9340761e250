// Package input splits what the developer's terminal sends into keys, mouse reports,
// pastes and replies without changing a byte, names the keys Lazaret binds, and
// translates an event for a pane only where the pane's modes differ from the outer
// terminal's. It reads no file and keeps no clock: whoever feeds it decides when an
// unfinished sequence has waited long enough. It never imports an event loop or a view.
package input
