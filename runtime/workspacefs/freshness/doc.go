// Package freshness keeps the workspace file system true to the host: it watches the
// directories in use, has the kernel forget what others change, lets the rules follow,
// and says which paths the guest is to be poked for.
//
//	fanotify ─► watch ─► freshness ─┬► rules (HostChanged)
//	                                ├► file system (HandleChanged, InvalidateAll)
//	                                └► notify ─► Poke
//
// In this order: whoever looks because of a poke finds the new state. It promises that
// a name that the sandbox is not shown is never poked for.
//
// Where a directory cannot be watched, OnDirectory says so and the file system caches
// it for a moment only. Where nothing can be, all are so.
//
// It knows the file system and the rules by what it needs of them; it imports only
// watch and notify.
package freshness
