package worktree

import (
	"fmt"
	"regexp"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
)

// branchPrefix begins every branch; the name follows.
const branchPrefix = "lazaret/agent-"

// Branch is the branch of the work tree called name.
func Branch(name string) string { return branchPrefix + name }

const maxName = 40

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// checkName refuses what is no name of a folder and a branch (git-check-ref-format(1)),
// with a *fault.Error of kind Usage.
func checkName(name string) error {
	ok := len(name) <= maxName && namePattern.MatchString(name) && !strings.Contains(name, "..") &&
		!strings.HasSuffix(name, ".") && !strings.HasSuffix(strings.ToLower(name), ".lock")
	if ok {
		return nil
	}
	return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("%q cannot be the name of a worktree and its branch", name),
		Fix: "use 1 to 40 letters, digits, '-', '_' and single dots, as in --name " + suggest(name)}
}

// suggest is a name that looks like what was wanted.
func suggest(name string) string {
	out := regexp.MustCompile(`[^A-Za-z0-9]+`).ReplaceAllString(name, "-")
	out = strings.Trim(out, "-")
	if len(out) > maxName {
		out = strings.Trim(out[:maxName], "-")
	}
	if out == "" || strings.EqualFold(out, "lock") {
		return "fix-login"
	}
	return out
}
