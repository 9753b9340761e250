package gvisor

import (
	"fmt"
	"slices"
	"strings"
)

// Runsc is one gVisor runtime and the flags all its commands share. They must be
// the same for every command of a sandbox.
type Runsc struct {
	Path     string // of the program
	Root     string // directory of its state; one per generation
	Directfs bool
}

// required are the flags a sandbox must have been started with, each with the
// reason. The rest of the flags have defaults that are never ours to change.
var required = []struct{ name, value string }{
	{"network", "sandbox"},       // netstack over the generation's own network namespace
	{"ignore-cgroups", "true"},   // an ordinary user has no cgroup to give
	{"overlay2", "none"},         // any other value keeps writes away from the State Anchors
	{"host-uds", "none"},         // the workspace may hold the host's sockets (agent, editor)
	{"host-fifo", "none"},        // and its FIFOs
	{"platform", "systrap"},      // kvm hangs where nested, ptrace is slower
	{"in-sandbox-cgroup", "v2"},  // the only one whose pids.max holds, and that has cgroup.kill
	{"net-raw", "false"},         // no raw sockets for guest root
	{"file-access", "exclusive"}, // the root file system is the sandbox's alone
	{"file-access-mounts", "shared"},
	{"allow-flag-override", "false"}, // no annotation may change a flag
}

// forbidden are flags that must not be in force whatever their default becomes.
var forbidden = []string{"rootless", "TESTONLY-unsafe-nonroot", "profile", "debug"}

func (r Runsc) flags() []string {
	flags := []string{"runsc", "--root=" + r.Root, fmt.Sprintf("--directfs=%t", r.Directfs)}
	for _, f := range required {
		flags = append(flags, "--"+f.name+"="+f.value)
	}
	return flags
}

// Run returns the argument vector of the attached run of the sandbox id from the
// bundle directory. pidFile receives the sentry's pid.
func (r Runsc) Run(bundle, pidFile, id string) []string {
	return append(r.flags(), "run", "--bundle="+bundle, "--pid-file="+pidFile, id)
}

// Kill returns the argument vector that sends signal to every process of id.
func (r Runsc) Kill(id, signal string) []string {
	return append(r.flags(), "kill", "--all", id, signal)
}

// State returns the argument vector that prints the state of id.
func (r Runsc) State(id string) []string { return append(r.flags(), "state", id) }

// Assert checks the command line of a running sentry or gofer: no flag may have
// reached it that contradicts those required. runsc passes on only what differs
// from its defaults, so an absent flag has the value of the pinned version.
func Assert(argv []string) error {
	for _, arg := range argv {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if !strings.HasPrefix(arg, "-") {
			continue
		}
		if value == "" {
			value = "true"
		}
		if slices.Contains(forbidden, name) && value != "false" {
			return fmt.Errorf("sandbox process runs with %q, which opens the host", arg)
		}
		for _, want := range required {
			if name == want.name && value != want.value {
				return fmt.Errorf("sandbox process runs with %q, want %s=%s", arg, want.name, want.value)
			}
		}
	}
	return nil
}

// Role says which of runsc's processes a command line belongs to: "sentry",
// "gofer", "run", or "" for none.
func Role(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	switch argv[0] {
	case "runsc-sandbox":
		return "sentry"
	case "runsc-gofer":
		return "gofer"
	case "runsc":
		if slices.Contains(argv, "run") {
			return "run"
		}
	}
	return ""
}
