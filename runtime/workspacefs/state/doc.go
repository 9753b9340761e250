// Package state is what the developer does with Domain storage from the host: see
// what the sandbox holds back there, and accept some of it into the workspace.
//
//	Held     walks what is held and says what each part is
//	Plan     looks at one path and says exactly what accepting it would do; for a
//	         git directory, what of it is taken, rewritten and left out (vet.go)
//	Apply    does what was planned, if the content is still what was shown
//	Recover  puts back what an interrupted Apply had taken aside
//
// Everything in Domain storage is the sandbox's and hostile, also while it is being
// looked at: a running sandbox may change it at any time. So nothing is opened by a
// path that could be swapped (openat2 below a descriptor, no links), every file is
// copied rather than moved, its digest is compared with the one that was shown, and
// modes, owners, links and special files never come along.
//
// Apply writes beside the target under a name that the workspace file system shows
// to no sandbox (Temporary), and renames; the sandbox's copy leaves before that, so
// that it never hides the accepted one.
//
// The package knows directory descriptors only. It must never import the
// coordinator; who calls it holds the locks.
package state
