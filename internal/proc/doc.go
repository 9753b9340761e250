// Package proc starts, signals and reaps every child process of Lazaret.
//
// It owns fork and exec: nothing else imports os/exec or calls the kernel's
// clone. It promises that a child dies with this process unless it is Detached:
// Linux ties a parent-death signal to the parent's *thread* (prctl(2)), and Go
// ends threads at will, so all children are born on one OS thread that one broker
// goroutine keeps for the life of the process. Every child is known by the pidfd
// the kernel handed out at its birth; signals go through it and can never reach
// another process that took over the number.
//
// It never imports anything of Lazaret.
package proc
