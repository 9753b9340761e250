// Package link is the conversation of the Runtime Supervisor (RS) with the daemon of
// the workspace file system. Each message is one packet; descriptors travel with it.
//
//	RS                                              daemon
//	│ start    [Resources.Files]               ────►  │ reads what decides, serves
//	│                                 ◄────  step …   │ names what it begins
//	│                                 ◄────  git …    │ each git directory of the host
//	│                                 ◄────  ready    │ both connections answer
//	│                                 ◄────  mount P  │ [held directory], any number of times
//	│                                 ◄────  changed P│ the host changed it; at a bounded rate
//	│ (closes its end)                         ────►  │ writes what it keeps, and ends
//
// failed may come instead of ready and is the daemon's last word. The daemon gets no
// path of the host and no other way to speak.
//
// It imports internal/packet, fault, canon and the runtime contract.
package link
