package config

import (
	"fmt"
	"slices"
	"time"
)

// order says why next grants more than base, or nil when it does not. base is
// what the layers below give.
type order func(base, next any) error

// onlyFalse: a switch may be turned off, never on.
func onlyFalse(base, next any) error {
	if next == true && base != true {
		return bad("", "may only be turned off here")
	}
	return nil
}

// onlyDomain: what Git ignores may be kept from the host here, never be given to it.
func onlyDomain(base, next any) error {
	if next != base && next != "domain" {
		return bad("", `may only be "domain" here`)
	}
	return nil
}

// onlyWorktree: a session may be given a work tree of its own here, never the one of the
// workspace.
func onlyWorktree(base, next any) error {
	if next != base && next != "worktree" {
		return bad("", `may only be "worktree" here`)
	}
	return nil
}

// onlyOldStrings: every element must already be there. For allowed networks only
// the exact prefix counts: the longest prefix decides, so a smaller one inside an
// allowed one could win against a denial in between.
func onlyOldStrings(base, next any) error {
	old, _ := base.([]string)
	for _, s := range next.([]string) {
		if !slices.Contains(old, s) {
			return bad("", "may only take entries away here, %q is new", s)
		}
	}
	return nil
}

// allOldStrings: no element may go. Only the exact prefix counts, as above.
func allOldStrings(base, next any) error {
	old, _ := base.([]string)
	for _, s := range old {
		if !slices.Contains(next.([]string), s) {
			return bad("", "may only add entries here, %q is gone", s)
		}
	}
	return nil
}

func onlyOldRules(base, next any) error {
	old, _ := base.([]ruleEntry)
	for _, r := range next.([]ruleEntry) {
		same := func(o ruleEntry) bool { return o.ExtraArgs == r.ExtraArgs && slices.Equal(o.Argv, r.Argv) }
		if !slices.ContainsFunc(old, same) {
			return bad("", "may only take rules away here, %q is new", r.Argv)
		}
	}
	return nil
}

// onlyLower: a limit may shrink; 0 means no limit and is the largest.
func onlyLower(base, next any) error {
	old, _ := base.(int64)
	n := next.(int64)
	if old == n || n != 0 && (old == 0 || n < old) {
		return nil
	}
	return bad("", "may only lower the limit of %s here", limitText(old))
}

func limitText(n int64) string {
	if n == 0 {
		return "none"
	}
	return fmt.Sprint(n)
}

// onlySooner: a shorter wait denies earlier.
func onlySooner(base, next any) error {
	old, _ := base.(string)
	was, err := time.ParseDuration(old)
	now, err2 := time.ParseDuration(next.(string))
	if err != nil || err2 != nil || now > was {
		return bad("", "may only be shorter than %s here", old)
	}
	return nil
}

// narrow holds an untrusted workspace file against what the layers below grant.
func narrow(below *merged, s *source, leaves []leaf) Problems {
	var out Problems
	for _, l := range leaves {
		message := refusal(below, l)
		if message == "" {
			continue
		}
		out = append(out, Problem{
			File: s.path, Line: l.line, Key: l.name(), Message: message,
			Hint: "read the file and run `lazaret config trust`, or set the key in your own configuration",
		})
	}
	return out
}

// refusal says why an untrusted workspace file may not set l, or "".
func refusal(below *merged, l leaf) string {
	const who = "anyone who can write the workspace, agents included, can write this file"
	if l.path[0] == "profiles" && !below.profiles[l.path[1]] {
		return fmt.Sprintf("the workspace file may not define the profile %q: %s", l.path[1], who)
	}
	if l.key.order == nil {
		return fmt.Sprintf("the workspace file may not set this: %s, and %s", l.key.why, who)
	}
	if err := l.key.order(below.get(l.path), l.value); err != nil {
		return err.Error() + ": " + who
	}
	return ""
}
