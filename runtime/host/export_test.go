package host

import (
	"context"
	"errors"

	"lazaret.dev/lazaret/runtime"
)

// Machine is a host whose system files lie under a directory.
type Machine struct{ m machine }

// NewMachine returns one with a user and the programs it has installed.
func NewMachine(root string, uid int, name string, programs ...string) Machine {
	return Machine{machine{root: root, uid: uid, name: name, look: func(program string) (string, error) {
		for _, p := range programs {
			if p == program {
				return "/usr/bin/" + p, nil
			}
		}
		return "", errors.New("not found")
	}}}
}

func (x Machine) DetectIDs(storage string) (runtime.IDs, string, error) {
	return x.m.detectIDs(storage)
}
func (x Machine) Kernel() Check          { return x.m.kernel(x.m.distribution()) }
func (x Machine) Settings() Check        { return x.m.userNamespaceSettings(x.m.distribution()) }
func (x Machine) Fuse() Check            { return x.m.device(x.m.distribution(), fuseDevice) }
func (x Machine) Slirp() Check           { return x.m.slirpPresent(x.m.distribution()) }
func (x Machine) Cgroups() Check         { return x.m.cgroups() }
func (x Machine) Needed(o Options) error { return x.m.needed(o) }
func (x Machine) SubordinateFix() string {
	taken, _ := x.m.taken()
	return x.m.distribution().subordinateFix(x.m.name, taken)
}

// UserNamespaces is the check on this very host.
func UserNamespaces(ctx context.Context) Check {
	m := system()
	return m.userNamespaces(ctx, m.distribution())
}

// Space is the check with bounds of the test's own, in bytes.
func Space(dir string, least, good uint64) Check {
	return space("room", dir, need{least, good, "things"})
}

// Slirp4netns and Runsc are the checks that run the programs.
func Slirp4netns(ctx context.Context) Check {
	m := system()
	return m.slirp(ctx, m.distribution())
}

func Runsc(ctx context.Context, o Options) Check { return runsc(ctx, o) }
