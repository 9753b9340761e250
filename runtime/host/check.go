package host

import (
	"context"
	"errors"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
)

// Status is how a check came out.
type Status string

// The outcomes. Only Fail keeps sandboxes from starting.
const (
	OK   Status = "ok"
	Warn Status = "warn"
	Fail Status = "fail"
)

// Check is the outcome of one check.
type Check struct {
	Name   string `json:"name"`
	Status Status `json:"status"`
	Detail string `json:"detail"`        // what was found
	Fix    string `json:"fix,omitempty"` // exactly what to do, for this distribution
}

// Options says what to check for.
type Options struct {
	StorageRoot string
	RuntimeDir  string
	Runsc       string // path of the runtime; "" when there is none
	RunscErr    error  // why there is none
}

// Run performs every check, in the order of their names on the screen. It takes a
// second or two.
func Run(ctx context.Context, o Options) []Check {
	m := system()
	d := m.distribution()
	checks := []Check{m.kernel(d), m.pidfs(d)}
	spaces := m.userNamespaces(ctx, d)
	checks = append(checks, spaces, m.subordinateIDs(ctx, d, o.StorageRoot, spaces.Status))
	checks = append(checks,
		m.probed(ctx, spaces, "overlay mounts", "overlay", m.overlayPlace(o.StorageRoot), d.overlayFix()),
		m.fuse(ctx, d, spaces), m.tun(ctx, d, spaces),
		m.probed(ctx, spaces, "network policy", "policy", "", d.nftablesFix()),
		m.slirp(ctx, d), runsc(ctx, o), m.cgroups(),
		space("storage root", o.StorageRoot, storageNeed), space("runtime directory", o.RuntimeDir, runtimeNeed),
	)
	return checks
}

// Needed looks for what would keep every launch from working, without starting a
// process, and returns the first as a *fault.Error with doctor's words.
func Needed(_ context.Context, o Options) error {
	m := system()
	return m.needed(o)
}

func (m machine) needed(o Options) error {
	d := m.distribution()
	for _, check := range []func() Check{
		func() Check { return m.kernel(d) },
		func() Check { return m.pidfs(d) },
		func() Check { return m.userNamespaceSettings(d) },
		func() Check { return m.device(d, fuseDevice) },
		func() Check { return m.device(d, tunDevice) },
		func() Check { return m.slirpPresent(d) },
		func() Check { return runscPresent(o) },
	} {
		if c := check(); c.Status == Fail {
			return &fault.Error{Kind: fault.Host, Message: c.Name + ": " + c.Detail, Fix: c.Fix}
		}
	}
	return nil
}

// Failed returns nil, or an error that names the failed checks.
func Failed(checks []Check) error {
	var names []string
	for _, c := range checks {
		if c.Status == Fail {
			names = append(names, c.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &fault.Error{Kind: fault.Host, Message: "this host is not ready: " + strings.Join(names, ", "),
		Fix: "apply the fixes above, then run lazaret doctor again"}
}

// words is an error as one line for a person.
func words(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		err = f
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
