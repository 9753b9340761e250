package host

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime/gvisor"
)

const programTime = 10 * time.Second

// slirpOptions are those a launch uses; all came with slirp4netns 1.0.
var slirpOptions = []string{"--configure", "--ready-fd", "--disable-host-loopback", "--enable-sandbox", "--enable-seccomp", "--userns-path"}

const slirpName = "slirp4netns"

func (m machine) slirpPresent(d distribution) Check {
	path, err := m.look(slirpName)
	if err != nil {
		return Check{slirpName, Fail, "not installed; it is the sandbox's only way to the network", d.install(slirpName)}
	}
	return Check{slirpName, OK, path, ""}
}

func (m machine) slirp(ctx context.Context, d distribution) Check {
	c := m.slirpPresent(d)
	if c.Status == Fail {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	path := c.Detail
	out, _, exit, err := proc.Output(ctx, proc.Spec{Path: path, Args: []string{slirpName, "--version"}})
	version, found := strings.CutPrefix(strings.SplitN(string(out), "\n", 2)[0], "slirp4netns version ")
	if err != nil || exit.Status() != 0 || !found {
		return Check{c.Name, Fail, path + " does not tell its version", d.install(slirpName)}
	}
	help, more, _, err := proc.Output(ctx, proc.Spec{Path: path, Args: []string{slirpName, "--help"}})
	if err != nil {
		return Check{c.Name, Fail, path + " does not run: " + words(err), d.install(slirpName)}
	}
	for _, option := range slirpOptions {
		if !strings.Contains(string(help)+string(more), option) {
			return Check{c.Name, Fail, fmt.Sprintf("%s %s has no %s", path, version, option), "install slirp4netns 1.0 or later"}
		}
	}
	c.Detail = path + ", version " + version
	return c
}

const runscName = "runsc"

func runscPresent(o Options) Check {
	c := Check{Name: runscName, Status: OK, Detail: o.Runsc}
	err := o.RunscErr
	if err == nil {
		_, err = os.Stat(o.Runsc)
	}
	if err != nil {
		c.Status, c.Detail, c.Fix = Fail, words(err), fault.FixOf(err)
		if c.Fix == "" {
			c.Fix = "build it with `make build`; it belongs beside lazaret"
		}
	}
	return c
}

func runsc(ctx context.Context, o Options) Check {
	c := runscPresent(o)
	if c.Status == Fail {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, programTime)
	defer cancel()
	version, err := gvisor.Probe(ctx, o.Runsc)
	if err != nil {
		return Check{c.Name, Fail, words(err), fault.FixOf(err)}
	}
	c.Detail = o.Runsc + ", version " + version + ", with every flag Lazaret gives it"
	return c
}
