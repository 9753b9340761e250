//go:build sandbox

package main_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/e2e"
)

const patience = 30 * time.Second

// terminal is `lazaret run` in a terminal of its own.
func (p *place) terminal(args ...string) *e2e.Terminal {
	p.t.Helper()
	cmd := p.command(append([]string{"run"}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	term, err := e2e.Start(cmd, 80, 24)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		term.Close()
		term.Wait(patience)
	})
	return term
}

func (p *place) shows(term *e2e.Terminal, text string) {
	p.t.Helper()
	if err := term.Shows(patience, text); err != nil {
		p.t.Fatal(err)
	}
}

// prompts waits until root's shell asks for the next line. What is typed before is lost
// when the shell sets the terminal.
func (p *place) prompts(term *e2e.Terminal) {
	p.t.Helper()
	if err := term.Until(patience, "a prompt", func(screen string) bool {
		return strings.HasSuffix(strings.TrimRight(screen, " \n"), "#")
	}); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) types(term *e2e.Terminal, keys string) {
	p.t.Helper()
	if err := term.Type(keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) ends(term *e2e.Terminal, want int) {
	p.t.Helper()
	if code, err := term.Wait(patience); err != nil || code != want {
		p.t.Errorf("lazaret ended with %d, %v; want %d; screen:\n%s", code, err, want, term.Text())
	}
}

func TestRunInATerminal(t *testing.T) {
	p := newPlace(t, "")
	term := p.terminal("--", "bash", "--norc")
	p.types(term, "stty size; echo $TERM\r")
	p.shows(term, "24 80")
	p.shows(term, "xterm-256color")
	if err := term.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	p.types(term, "stty size\r")
	p.shows(term, "30 100")
	p.types(term, "sh -c 'echo fir''st; read line'\r")
	p.shows(term, "first")
	p.types(term, "\x03")
	p.prompts(term)
	p.types(term, "echo status $?\r")
	p.shows(term, "status 130")
	p.types(term, "sh -c 'echo sec''ond; read line'\r")
	p.shows(term, "second")
	p.types(term, "\x1a")
	p.shows(term, "Stopped")
	p.prompts(term)
	p.types(term, "exit; exit 7\r")
	p.ends(term, 7)
}

func TestTildeDotEndsTheSession(t *testing.T) {
	p := newPlace(t, "")
	term := p.terminal("--", "sh", "-c", "trap '' HUP; echo up; sleep 100")
	p.shows(term, "up")
	p.types(term, "~.")
	p.ends(term, 143)
}

const card = "q deny and end the session"

func TestCardInTheTerminal(t *testing.T) {
	p := newPlace(t, "")
	term := p.terminal("--", "bash", "--norc")
	ask := func(command string) {
		t.Helper()
		p.types(term, "clear\r")
		if err := term.Gone(patience, card); err != nil {
			t.Fatal(err)
		}
		p.types(term, command+"; echo st''atus $?\r")
		p.shows(term, card)
	}
	ask("lazaret-escalate --why 'to see' -- uname -s")
	p.shows(term, "to see")
	p.types(term, "a")
	p.shows(term, "status 0")
	p.shows(term, "Linux")

	ask("lazaret-escalate -- uname -s")
	p.types(term, "d")
	p.shows(term, "reason (Enter for none):")
	p.types(term, "not today\r")
	p.shows(term, "not today")
	p.shows(term, "status ")
	if strings.Contains(term.Text(), "Linux") {
		t.Errorf("a denied command ran:\n%s", term.Text())
	}

	ask("lazaret-escalate -- echo one two")
	p.types(term, "e")
	p.shows(term, "[0] echo >")
	p.types(term, "\r")
	p.shows(term, "[1] one >")
	p.types(term, "changed words\r")
	p.shows(term, "[2] two >")
	p.types(term, "-\r")
	p.shows(term, "one more")
	p.types(term, "\r")
	p.shows(term, "echo 'changed words'")
	p.shows(term, card) // it takes keys again
	p.types(term, "a")
	p.shows(term, "status 0")

	ask("lazaret-escalate -- true")
	p.types(term, "q")
	p.shows(term, "y to confirm")
	p.types(term, "y")
	if code, err := term.Wait(patience); err != nil || code == 0 {
		t.Errorf("after an abort lazaret ended with %d, %v", code, err)
	}
}
