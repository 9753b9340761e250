// Package supervisor brings Domain generations up and takes them down.
//
// It has two halves in two processes. The Launcher runs in the Host Coordinator
// (HC): it starts the Runtime Supervisor (RS) in new namespaces, slirp4netns beside
// it in the host's network, and speaks with RS over a socket pair. Main is RS: PID 1
// of its own PID namespace, in a root file system that holds nothing of the host
// but what the generation's Spec names. RS builds the guest's root, installs the
// network policy, runs runsc attached, gives up network administration for good,
// and from then on runs each session's command by calls to the sentry.
//
// It promises that whatever dies takes the rest along: RS dies with HC by its
// parent-death signal and its lifetime pipe, everything in the PID namespace dies
// with RS by the kernel's hand, and nothing of a generation is on a disk or in a
// mount table that outlives it. slirp4netns alone may die and leave the sandbox
// running, without network.
//
// It never imports coordinator, store or any user interface.
package supervisor
