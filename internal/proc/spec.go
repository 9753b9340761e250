package proc

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// Spec is one child to start. It says everything: nothing is inherited but what
// is named here.
type Spec struct {
	Path string   // absolute path, or Self()
	Args []string // with Args[0]; empty means {Path}
	Env  []string // the whole environment; nil is an empty one
	Dir  string   // "" is this process's own directory

	// Files become the child's descriptors: Files[i] is descriptor i, nil is
	// /dev/null. Missing entries below 3 are /dev/null too. A file given to a
	// child is put into blocking mode, because the child shares that flag.
	Files []*os.File

	Setsid  bool
	Setctty bool // make the child's descriptor Ctty its controlling terminal; needs Setsid
	Setpgid bool // new process group led by the child
	Ctty    int

	// Detached children outlive this process; all others are killed with it.
	Detached bool

	Cloneflags  uintptr
	UIDMap      []syscall.SysProcIDMap // written by Go before the exec; needs CLONE_NEWUSER
	GIDMap      []syscall.SysProcIDMap
	Setgroups   bool // leave setgroups(2) allowed in the new user namespace
	Credential  *syscall.Credential
	AmbientCaps []uintptr
}

// Self returns the path that executes this very program again, even when the
// file it was started from has been replaced or removed.
func Self() string { return "/proc/self/exe" }

func (s Spec) args() []string {
	if len(s.Args) == 0 {
		return []string{s.Path}
	}
	return s.Args
}

func (s Spec) sys(pidfd *int) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		PidFD:                      pidfd,
		Setsid:                     s.Setsid,
		Setctty:                    s.Setctty,
		Setpgid:                    s.Setpgid,
		Ctty:                       s.Ctty,
		Cloneflags:                 s.Cloneflags,
		UidMappings:                s.UIDMap,
		GidMappings:                s.GIDMap,
		GidMappingsEnableSetgroups: s.Setgroups,
		Credential:                 s.Credential,
		AmbientCaps:                s.AmbientCaps,
	}
	if !s.Detached {
		// Only SIGKILL will do: Go's child kills itself with this signal when its
		// parent changed between fork and prctl, and the first process of a PID
		// namespace always sees a "changed" parent (0). Against SIGKILL it sends
		// itself, a namespace's init is immune.
		attr.Pdeathsig = unix.SIGKILL
	}
	return attr
}

// descriptors returns the numbers for the child and what to close afterwards.
func (s Spec) descriptors() (fds []uintptr, release func(), err error) {
	n := max(len(s.Files), 3)
	var null *os.File
	for i := range n {
		if i < len(s.Files) && s.Files[i] != nil {
			fd := s.Files[i].Fd()
			// Fd does this only for files the Go runtime made non-blocking itself.
			if err := unix.SetNonblock(int(fd), false); err != nil {
				return nil, nil, fmt.Errorf("make the child's descriptor %d blocking: %w", i, err)
			}
			fds = append(fds, fd)
			continue
		}
		if null == nil {
			if null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0); err != nil {
				return nil, nil, fmt.Errorf("open the null device: %w", err)
			}
		}
		fds = append(fds, null.Fd())
	}
	return fds, func() {
		if null != nil {
			null.Close()
		}
	}, nil
}
