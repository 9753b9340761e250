package desk_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/desk"
	"lazaret.dev/lazaret/escalate/policy"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// TestWhatTheSandboxWroteIsSigned: the sentence is on the card, and a decision about the
// card without it is none.
func TestWhatTheSandboxWroteIsSigned(t *testing.T) {
	t.Parallel()
	j := journal.New()
	h := open(t, func(c *desk.Config) { c.Journal = func() (*journal.Journal, error) { return j, nil } })
	j.Note(journal.Change{Path: "run.sh", Kind: journal.Created, Time: h.clock.Now()})
	g := h.session(t)
	a := g.ask(t, "sh", "-c", "exit 3", "run.sh")
	p := receive(t, "the request", g.pending)
	want := policy.WarnWritten + ": run.sh (" + h.clock.Now().Local().Format("15:04") + ")"
	if !slices.Contains(p.Warnings, want) {
		t.Fatalf("warnings %q, want %q", p.Warnings, want)
	}
	if digest, err := sign.Digest(p); err != nil || !bytes.Equal(digest, p.Digest) {
		t.Errorf("the digest is not that of what is shown: %v", err)
	}
	without := p
	without.Warnings = slices.DeleteFunc(slices.Clone(p.Warnings), func(w string) bool { return strings.HasPrefix(w, policy.WarnWritten) })
	digest, err := sign.Digest(without)
	if err != nil {
		t.Fatal(err)
	}
	without.Digest = digest
	if err := g.decide(t, g.decision(without, escalate.VerdictApprove)); !errors.Is(err, desk.ErrBadDecision) {
		t.Errorf("a card without the sentence: %v", err)
	}
	if err := g.decide(t, g.decision(p, escalate.VerdictApprove)); err != nil {
		t.Fatal(err)
	}
	a.wait(t, 3)
}
