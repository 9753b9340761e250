package gvisor

import (
	"context"
	"fmt"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
)

// Probe checks that the runsc at path understands everything this package says to
// one, and returns its version. It runs no sandbox.
func Probe(ctx context.Context, path string) (version string, err error) {
	refuse := func(why string, cause error) error {
		return &fault.Error{Kind: fault.Host, Message: fmt.Sprintf("runsc %q is not usable: %s", path, why), Err: cause,
			Fix: "build the pinned one with `make build`, or remove the setting that names another"}
	}
	out, _, exit, err := proc.Output(ctx, proc.Spec{Path: path, Args: []string{"runsc", "--version"}})
	if err != nil {
		return "", refuse("it does not start", err)
	}
	first, _, _ := strings.Cut(string(out), "\n")
	version, ok := strings.CutPrefix(first, "runsc version ")
	if exit.Status() != 0 || !ok {
		return "", refuse("it does not tell its version", nil)
	}
	out, text, _, err := proc.Output(ctx, proc.Spec{Path: path, Args: []string{"runsc", "flags"}})
	if err != nil {
		return "", refuse("it does not list its flags", err)
	}
	listed := string(out) + string(text)
	for _, f := range append([]struct{ name, value string }{{"root", ""}, {"directfs", ""}}, required...) {
		if !strings.Contains(listed, "-"+f.name+" ") && !strings.Contains(listed, "-"+f.name+"\n") {
			return "", refuse("it does not know --"+f.name, nil)
		}
	}
	return version, nil
}
