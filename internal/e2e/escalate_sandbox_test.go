//go:build sandbox

package e2e_test

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
	"lazaret.dev/lazaret/internal/sandboxtest"
)

// card waits until the terminal asks for a decision about a request whose card shows
// text.
func card(t *testing.T, term *e2e.Terminal, text string) {
	t.Helper()
	err := term.Until(e2e.Patience, "a card with "+text, func(s string) bool {
		s = strings.TrimSpace(s)
		last := s[strings.LastIndexByte(s, '\n')+1:]
		return strings.Contains(s, text) && strings.Contains(last, "q deny and end the session")
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestRequestIsApproved: the card shows what would run, where, as whom and why; the
// approved command runs on the host, its output and status come back.
func TestRequestIsApproved(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	mark := filepath.Join(h.Dir, "made on the host")
	h.Env = append(h.Env, "ON_HOST=1")
	h.Write("sub/x", "")
	term := h.Terminal(110, 30, "run", "--", "sh", "-c", "cd sub; lazaret-escalate --why 'the tests need it' -- touch '"+mark+"'; echo status:$?; "+
		"lazaret-escalate -- sh -c 'pwd; echo $ON_HOST; echo oops >&2; exit 42' 2>err; echo status:$?; cat err")
	card(t, term, "command")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"touch '" + mark + "'", "/touch", "the tests need it", filepath.Join(h.Workspace, "sub"), me.Username} {
		if !strings.Contains(strings.ReplaceAll(term.Text(), "\n", ""), want) {
			t.Errorf("the card does not show %q:\n%s", want, term.Text())
		}
	}
	typed(t, term, "a")
	shows(t, term, "status:0")
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the command did not run: %v", err)
	}
	card(t, term, "exit 42")
	typed(t, term, "a")
	shows(t, term, "status:42")
	shows(t, term, "oops")
	if s := term.Text(); !strings.Contains(s, filepath.Join(h.Workspace, "sub")) {
		t.Errorf("not in the working directory:\n%s", s)
	}
	ends(t, term, 0)
}

// TestCardNamesWhatTheSandboxWrote: the Makefile is the agent's on one card and the
// developer's on the other.
func TestCardNamesWhatTheSandboxWrote(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Write("mine/Makefile", "all:\n\t@echo of the host\n")
	h.Write("build/Makefile", "all:\n\t@echo of the host\n")
	term := h.Terminal(110, 40, "run", "--", "sh", "-c", "printf 'all:\\n\\t@echo of the agent\\n' > build/Makefile; echo written; read x;"+
		"lazaret-escalate -- make -C build; echo status:$?; rm build/Makefile; cd mine; lazaret-escalate -- make; echo status:$?")
	shows(t, term, "written")
	sandboxtest.Await(t, e2e.Patience, "a journal with the file", func() bool {
		return strings.Contains(h.Lazaret("state", "changes").Stdout, "build/Makefile")
	})
	typed(t, term, "\r")
	card(t, term, "written by the sandbox: build/Makefile (")
	typed(t, term, "a")
	shows(t, term, "of the agent")
	card(t, term, "mine")
	if s := term.Text(); strings.Contains(s, "written by the sandbox") || !strings.Contains(s, "runs project code") {
		t.Errorf("the developer's own file:\n%s", s)
	}
	typed(t, term, "a")
	shows(t, term, "of the host")
	ends(t, term, 0)
}

func TestRequestIsDenied(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	mark := filepath.Join(h.Dir, "mark")
	term := h.Terminal(110, 30, "run", "--", "sh", "-c", "lazaret-escalate -- touch "+mark+" 2>err; echo status:$?; cat err")
	card(t, term, "command")
	if all := statusOf(t, h); len(all) != 1 || all[0].Status == nil || all[0].Status.Pending != 1 {
		t.Errorf("pending: %+v", all)
	}
	typed(t, term, "d")
	shows(t, term, "reason")
	typed(t, term, "not on a friday\r")
	shows(t, term, "status:126")
	shows(t, term, "not on a friday")
	ends(t, term, 0)
	if _, err := os.Stat(mark); err == nil {
		t.Error("the denied command ran")
	}
}

func TestRequestIsEdited(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := h.Terminal(110, 40, "run", "--", "sh", "-c", "lazaret-escalate -- touch "+h.Dir+"/one "+h.Dir+"/two; echo status:$?")
	card(t, term, "command")
	typed(t, term, "e")
	shows(t, term, "[0]")
	typed(t, term, "\r")
	shows(t, term, "[1]")
	typed(t, term, h.Dir+"/edited\r")
	shows(t, term, "[2]")
	typed(t, term, "-\r")
	shows(t, term, "[3]")
	typed(t, term, "\r")
	card(t, term, "edited; asked was")
	typed(t, term, "a")
	shows(t, term, "status:0")
	ends(t, term, 0)
	made, _ := filepath.Glob(filepath.Join(h.Dir, "*"))
	if all := strings.Join(made, " "); !strings.Contains(all, "/edited") || strings.Contains(all, "/one") || strings.Contains(all, "/two") {
		t.Errorf("made: %s", all)
	}
}

// TestRequestIsAborted ends the session that asked, and with it the Domain.
func TestRequestIsAborted(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := h.Terminal(110, 30, "run", "--", "sh", "-c", "trap '' HUP TERM; lazaret-escalate -- touch "+h.Dir+"/mark; sleep 1000")
	card(t, term, "command")
	typed(t, term, "q")
	shows(t, term, "y to confirm")
	typed(t, term, "y")
	code, err := term.Wait(e2e.Patience)
	if err != nil || code == 0 {
		t.Errorf("status %d, %v:\n%s", code, err, term.Text())
	}
	h.AwaitStopped()
	if _, err := os.Stat(h.Dir + "/mark"); err == nil {
		t.Error("the command ran")
	}
}

// TestRequestStreams: output arrives while the command still runs, for the command
// waits for a sign that only its output causes.
func TestRequestStreams(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	sign := filepath.Join(h.Workspace, "sign")
	term := h.Terminal(110, 30, "run", "--", "sh", "-c",
		`lazaret-escalate -- sh -c 'echo first; while ! test -e `+sign+`; do sleep 0.05; done; echo second; seq 20000' > out & while ! grep -q first out; do sleep 0.05; done; touch sign; wait; tail -n 1 out; wc -l < out`)
	card(t, term, "command")
	typed(t, term, "a")
	shows(t, term, "20000")
	shows(t, term, "20002")
	ends(t, term, 0)
}

// TestRequestWithoutATerminal is denied, with the reason on both sides.
func TestRequestWithoutATerminal(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	r := h.Sh("lazaret-escalate -- touch " + h.Dir + "/mark; echo status:$?")
	if r.Code != 0 || r.Stdout != "status:126\n" || !strings.Contains(r.Stderr, "asks to run on this host: touch") ||
		!strings.Contains(r.Stderr, "no terminal") {
		t.Errorf("%v", r)
	}
	if _, err := os.Stat(h.Dir + "/mark"); err == nil {
		t.Error("the command ran")
	}
}

// TestRequestExpires when nobody answers the card, which then goes away.
func TestRequestExpires(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Configure("[escalation]\nexpire = \"10s\"\n")
	term := h.Terminal(110, 30, "run", "--", "sh", "-c", "lazaret-escalate -- touch "+h.Dir+"/mark; echo status:$?")
	card(t, term, "command")
	shows(t, term, "nobody decided in time")
	shows(t, term, "status:125")
	ends(t, term, 0)
	if _, err := os.Stat(h.Dir + "/mark"); err == nil {
		t.Error("the command ran")
	}
}

func TestEscalationOff(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.ConfigureShell("escalation = false", "")
	r := h.Sh("lazaret-escalate -- true; echo status:$?")
	if !strings.Contains(r.Stdout, "status:125") || !strings.Contains(r.Stderr, "off") {
		t.Errorf("%v", r)
	}
}

// TestCommandLineIsRefused: what cannot be a request is refused inside.
func TestRequestsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	for _, bad := range []string{"lazaret-escalate", "lazaret-escalate --", "lazaret-escalate --no-such-flag -- true", "cd /tmp && lazaret-escalate -- true"} {
		if r := h.Sh("timeout 20 sh -c '" + bad + "'"); r.Code == 0 || r.Code == 124 || r.Stderr == "" {
			t.Errorf("%q: %v", bad, r)
		}
	}
}
