// Package messages shows what was reported since the dashboard opened. Log lines and
// notices go here and to the bottom line, never onto a pane.
package messages
