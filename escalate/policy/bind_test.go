package policy_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/escalate/policy"
)

// TestInterpreterDriftIsRefused: what a script's first line names in the workspace
// is code as much as the script. Its twin is the plan whose files stay.
func TestInterpreterDriftIsRefused(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"relative": "#!./sub/interpreter", "by env": "#!/usr/bin/env -S ./sub/interpreter",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.write(t, filepath.Join(p.workspace, "deploy"), first+"\n", 0o755)
			interpreter := filepath.Join(p.workspace, "sub/interpreter")
			p.write(t, interpreter, "#!/bin/sh\n# shown", 0o755)
			for _, argv := range [][]string{{"./deploy"}, {"env", "./deploy"}} {
				p.write(t, interpreter, "#!/bin/sh\n# shown", 0o755)
				plan := p.judge(t, argv...)
				if err := bind(plan); err != nil {
					t.Errorf("%q, nothing changed: %v", argv, err)
				}
				p.write(t, interpreter, "#!/bin/sh\n# other", 0o755)
				if err := bind(plan); !errors.Is(err, policy.ErrDrift) || !strings.Contains(err.Error(), "interpreter") {
					t.Errorf("%q: %v, want ErrDrift naming the interpreter", argv, err)
				}
			}
		})
	}
}

// TestWhatIsNotBoundIsNamed: a script too large to be hashed, and scripts behind
// many others, would otherwise change unseen.
func TestWhatIsNotBoundIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	large := filepath.Join(p.workspace, "large.sh")
	p.write(t, large, "", 0o644)
	if err := os.Truncate(large, policy.MaxCopy+1); err != nil {
		t.Fatal(err)
	}
	const what = "can still change after you approve"
	if plan := p.judge(t, "sh", "large.sh"); !warns(plan, what) || !warns(plan, "large.sh") {
		t.Errorf("warnings %q", plan.Warnings)
	}
	argv := []string{"env"}
	for i := range 80 {
		name := fmt.Sprintf("s%02d", i)
		p.write(t, filepath.Join(p.workspace, name), "#!/bin/sh\n", 0o755)
		argv = append(argv, "./"+name)
	}
	if plan := p.judge(t, argv...); !warns(plan, what) {
		t.Errorf("warnings %q", plan.Warnings)
	}
	plan := p.judge(t, argv[:21]...)
	if warns(plan, what) {
		t.Errorf("warnings %q", plan.Warnings)
	}
	p.write(t, filepath.Join(p.workspace, "s19"), "#!/bin/sh\nother\n", 0o755)
	if err := bind(plan); !errors.Is(err, policy.ErrDrift) {
		t.Errorf("the 20th script changed: %v", err)
	}
}
