// Package guest is what Lazaret runs inside the sandbox: the guest init, which is
// PID 1 and answers the host on its standard input and output, and the session
// wrapper, which starts one session's command and can account for every process
// that ever came of it.
//
// It promises that a session can be ended whole: an orphan returns to the wrapper
// (PR_SET_CHILD_SUBREAPER), and the session's guest cgroup names the rest. Guest
// root can defeat both; it is one trust domain, and the host believes nothing it
// reads from here.
//
// It is linked into the small static guest binary, so it imports only
// runtime/guest/control, internal/{canon,domain}, golang.org/x/sys and the standard
// library without net and os/exec. It forks by itself: internal/proc is built on
// pidfds and parent-death signals of the host's kernel.
package guest
