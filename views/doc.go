// Package views holds what all parts of the dashboard's picture share: key tables,
// the actions a view may return, the canvas it draws on, and the guard that keeps
// a dialog from taking keys meant for something else. Each view is a package
// below: a struct with Key, Draw and its table; it returns actions and never
// performs one.
//
// It never imports a client, a store, a runtime or an event loop. Drawing writes
// nothing but cells: drawn twice, a view looks the same twice.
package views
