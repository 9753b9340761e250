package gvisor

import (
	"context"
	"errors"
	"fmt"
	"os"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"
)

// Control calls the control server of one running sentry, as the runsc client
// programs do. Its methods may overlap; each makes a connection of its own.
//
//	Execute ──► pid ──► Wait ──► status
//	               └──► SignalForeground, any number of times in between
//
// The names and shapes of the calls are those of the pinned gVisor: pkg/urpc,
// runsc/boot/controller.go, pkg/sentry/control/proc.go.
//
// A sentry is hostile once its sandbox has been broken: an answer is bounded in size
// and read strictly. How long one takes is the caller's to bound, by the context.
type Control struct {
	socket string
	id     string
	owner  int // uid and gid of the sentry's process, in the caller's user namespace
}

// nobody is who a sentry without direct file access runs as (runsc/sandbox).
const nobody = 65534

// Control returns the control server of the sandbox id that r runs. The caller must
// be in the mount namespace of r's state, and root in r's user namespace.
func (r Runsc) Control(id string) Control {
	c := Control{socket: r.Root + "/runsc-" + id + ".sock", id: id}
	if !r.Directfs {
		c.owner = nobody
	}
	return c
}

// execArgs is control.ExecArgs of the sentry, as far as it is ours to say.
type execArgs struct {
	Argv             []string         `json:"argv"`
	Envv             []string         `json:"envv"`
	WorkingDirectory string           `json:"wd"`
	KUID             uint32           `json:"KUID"`
	KGID             uint32           `json:"KGID"`
	ExtraKGIDs       []uint32         `json:"ExtraKGIDs"`
	NoNewPrivileges  bool             `json:"NoNewPrivileges"`
	Capabilities     taskCapabilities `json:"Capabilities"`
	StdioIsPty       bool             `json:"StdioIsPty"`
	SupportTTYs      bool             `json:"SupportTTYs"`
	GuestFDs         []int            `json:"GuestFDs"` // what the files become, in their order
	ContainerID      string           `json:"ContainerID"`
}

// Execute starts the process p describes with the three streams stdio, and returns
// its id in the sandbox. The files stay the caller's. What it returns is a
// *RefusedError when the sentry would not start the process.
func (c Control) Execute(ctx context.Context, p *specs.Process, stdio [3]*os.File) (pid int32, err error) {
	if len(p.Args) == 0 || p.Cwd == "" {
		return 0, errors.New("execute a process: it has no words, or no directory")
	}
	args := execArgs{
		Argv: p.Args, Envv: p.Env, WorkingDirectory: p.Cwd,
		KUID: p.User.UID, KGID: p.User.GID, ExtraKGIDs: p.User.AdditionalGids,
		NoNewPrivileges: p.NoNewPrivileges, StdioIsPty: p.Terminal, SupportTTYs: true,
		GuestFDs: []int{0, 1, 2}, ContainerID: c.id,
	}
	if args.Capabilities, err = capabilitiesOf(p.Capabilities); err != nil {
		return 0, err
	}
	for _, f := range stdio {
		if err := c.give(f); err != nil {
			return 0, err
		}
	}
	if err := c.call(ctx, "ExecuteAsync", args, stdio[:], &pid); err != nil {
		return 0, err
	}
	if pid <= 0 {
		return 0, fmt.Errorf("%w: process id %d", ErrMalformed, pid)
	}
	return pid, nil
}

// give makes the sentry's process the owner of a stream, so that the guest can open
// it again by its name under /proc. Where that cannot be, it goes without.
func (c Control) give(f *os.File) error {
	err := f.Chown(c.owner, c.owner)
	if err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EROFS) {
		return nil
	}
	return fmt.Errorf("give a stream to the sandbox: %w", err)
}

// Wait waits for the end of a process that Execute started and returns its status,
// which is an exit or a death by a signal.
func (c Control) Wait(ctx context.Context, pid int32) (unix.WaitStatus, error) {
	args := struct {
		PID int32
		CID string
	}{pid, c.id}
	var word uint32
	if err := c.call(ctx, "WaitPID", args, nil, &word); err != nil {
		return 0, err
	}
	status := unix.WaitStatus(word)
	if !status.Exited() && !status.Signaled() {
		return 0, fmt.Errorf("%w: wait status %#x", ErrMalformed, word)
	}
	return status, nil
}

// foregroundGroup is boot.DeliverToForegroundProcessGroup.
const foregroundGroup = 2

// SignalForeground sends sig to the foreground process group of the terminal that
// pid was executed with.
func (c Control) SignalForeground(ctx context.Context, pid int32, sig unix.Signal) error {
	args := struct {
		CID        string
		Signo, PID int32
		Mode       int
	}{c.id, int32(sig), pid, foregroundGroup}
	return c.call(ctx, "Signal", args, nil, nil)
}
