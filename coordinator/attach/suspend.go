package attach

import (
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"
)

// suspend stops this process the way Ctrl-Z stops any other, with the terminal as
// it was, and takes the terminal again when it is continued. The program inside is
// not told: it waits when its output does.
//
// It stops with SIGSTOP: once a Go program has asked to be notified of SIGTSTP,
// that signal's own action is gone for good.
func (c *console) suspend() {
	if !continuable() {
		c.line("lazaret: there is no shell here that could continue a stopped lazaret")
		return
	}
	c.restore()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	if err := unix.Kill(0, unix.SIGSTOP); err == nil {
		<-continued
	}
	c.raw()
}

// continuable says whether somebody outside this process group, but in its
// session, started it: a shell with job control. Without one the kernel calls the
// group orphaned, and nobody would ever continue it.
func continuable() bool {
	group := unix.Getpgrp()
	session, err := unix.Getsid(0)
	if err != nil {
		return false
	}
	for pid := os.Getppid(); pid > 1; pid = parentOf(pid) {
		theirs, err := unix.Getpgid(pid)
		if err != nil {
			return false
		}
		if theirs == group {
			continue
		}
		sid, err := unix.Getsid(pid)
		return err == nil && sid == session
	}
	return false
}

// parentOf reads the parent of a process (proc_pid_stat(5)); 0 when it is gone.
func parentOf(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name in parentheses may contain anything; what follows it cannot.
	_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	var state string
	var parent int
	if _, err := fmt.Sscan(rest, &state, &parent); err != nil {
		return 0
	}
	return parent
}
