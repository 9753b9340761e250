// Package overlay holds the small dialogs that stand before something else: the
// question before a dangerous action.
package overlay
