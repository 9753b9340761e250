package supervisor

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/netpolicy"
)

// slirp is the connectivity helper: user-mode networking from RS's network namespace
// to the host's, in which it must be born.
type slirp struct {
	process *proc.Process
	errors  *tail
	hold    *os.File // its end tells slirp4netns to end
}

// startSlirp starts slirp4netns for the namespaces of process pid and waits until
// the tap is configured.
func startSlirp(ctx context.Context, path string, mode runtime.Mode, pid int) (_ *slirp, err error) {
	s := &slirp{}
	ready, readyW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer ready.Close()
	defer readyW.Close()
	exit, hold, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer exit.Close()
	s.hold = hold
	defer func() {
		if err != nil {
			s.end()
		}
	}()
	if s.errors, err = newTail(); err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	spec, err := slirpSpec(path, mode, pid)
	if err != nil {
		return nil, err
	}
	spec.Files = []*os.File{nil, s.errors.w, s.errors.w, readyW, exit}
	s.process, err = proc.Start(spec)
	s.errors.started()
	if err != nil {
		return nil, err
	}
	readyW.Close()
	stop := context.AfterFunc(ctx, func() { ready.Close() })
	defer stop()
	if n, _ := ready.Read(make([]byte, 1)); n != 1 {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("wait for slirp4netns: %w", ctx.Err())
		}
		return nil, &fault.Error{Kind: fault.Host, Message: "slirp4netns did not bring the network up: " + s.errors.text(),
			Fix: "check that /dev/net/tun is readable and writable for you, or set network.enabled = false"}
	}
	return s, nil
}

func slirpSpec(path string, mode runtime.Mode, pid int) (proc.Spec, error) {
	id := strconv.Itoa(pid)
	args := []string{"slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback",
		"--enable-sandbox", "--enable-seccomp", "--ready-fd=3", "--exit-fd=4"}
	if mode != runtime.ModeRoot {
		return proc.Spec{Path: path, Args: append(args, id, netpolicy.Tap)}, nil
	}
	// Only real root may enter a namespace it owns as root, and slirp4netns has no
	// business being root: nsenter(1) makes it the sandbox's own unprivileged root
	// first, still in the host's network.
	nsenter, err := proc.LookPath("nsenter")
	if err != nil {
		return proc.Spec{}, &fault.Error{Kind: fault.Host, Message: "cannot start slirp4netns unprivileged", Err: err,
			Fix: "install nsenter (Debian, Ubuntu: util-linux)"}
	}
	enter := []string{"nsenter", "--user=/proc/" + id + "/ns/user", "--setuid=0", "--setgid=0", "--", path}
	args = append(args[1:], "--netns-type=path", "/proc/"+id+"/ns/net", netpolicy.Tap)
	return proc.Spec{Path: nsenter, Args: append(enter, args...)}, nil
}

// end ends slirp4netns and waits until it is gone.
func (s *slirp) end() {
	if s.hold != nil {
		s.hold.Close()
	}
	if s.process != nil {
		_ = s.process.Signal(unix.SIGKILL)
		<-s.process.Done()
	}
}
