//go:build sandbox

package e2e_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// TestRunExitStatus is the rule that lazaret run ends as its command did.
func TestRunExitStatus(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	h.Write("plain", "no program")
	for _, c := range []struct {
		want int
		argv []string
	}{
		{0, []string{"true"}},
		{7, []string{"sh", "-c", "exit 7"}},
		{255, []string{"sh", "-c", "exit 255"}},
		{128 + 15, []string{"sh", "-c", "kill -TERM $$"}},
		{128 + 9, []string{"sh", "-c", "kill -KILL $$"}},
		{127, []string{"no-such-command"}},
		{127, []string{"/no/such/file"}},
		{126, []string{"/workspace/plain"}},
		{126, []string{"/etc"}},
	} {
		if r := h.Run(c.argv...); r.Code != c.want {
			t.Errorf("%q: want %d, got %v", c.argv, c.want, r)
		}
	}
}

func TestRunKeepsStreamsApart(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	r := h.Sh("echo out; echo err >&2; echo more; test -t 0 || test -t 1 || test -t 2 || echo pipes")
	if r.Code != 0 || r.Stdout != "out\nmore\npipes\n" || r.Stderr != "err\n" {
		t.Errorf("%v", r)
	}
	// More than any buffer on the way holds, and the end of it.
	big := bytes.Repeat([]byte("0123456789abcde\n"), 300<<10/16)
	r = h.Feed(bytes.NewReader(big), "run", "--", "sh", "-c", "cat; echo end >&2")
	if r.Code != 0 || r.Stdout != string(big) || r.Stderr != "end\n" {
		t.Errorf("status %d, %d bytes back of %d, stderr %q", r.Code, len(r.Stdout), len(big), r.Stderr)
	}
	if r = h.Feed(strings.NewReader(""), "run", "--", "wc", "-c"); strings.TrimSpace(r.Stdout) != "0" {
		t.Errorf("empty input: %v", r)
	}
}

// A command that does not read its input must not keep lazaret from ending.
func TestRunEndsWithUnreadInput(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := h.Open("run", "--", "sh", "-c", "exec <&-; echo closed; exit 3")
	c.Shows("closed")
	if r := c.Wait(); r.Code != 3 {
		t.Errorf("%v", r)
	}
}

func TestSignalsToTheClientReachTheCommand(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	for _, c := range []struct {
		signal os.Signal
		trap   string
		want   int
	}{
		{os.Interrupt, "trap 'echo trapped; exit 5' INT", 5},
		{os.Interrupt, ":", 130},
	} {
		x := h.Open("run", "--", "sh", "-c", c.trap+"; echo ready; while :; do sleep 0.1; done")
		x.Shows("ready")
		if err := x.Cmd.Process.Signal(c.signal); err != nil {
			t.Fatal(err)
		}
		if r := x.Wait(); r.Code != c.want || (c.want == 5) != strings.Contains(r.Stdout, "trapped") {
			t.Errorf("%v with %q: want %d, got %v", c.signal, c.trap, c.want, r)
		}
	}
}
