//go:build sandbox

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/e2e"
	screen "lazaret.dev/lazaret/internal/term"
)

func shows(t *testing.T, term *e2e.Terminal, text string) {
	t.Helper()
	if err := term.Shows(e2e.Patience, text); err != nil {
		t.Fatal(err)
	}
}

func typed(t *testing.T, term *e2e.Terminal, keys string) {
	t.Helper()
	if err := term.Type(keys); err != nil {
		t.Fatal(err)
	}
}

// prompts waits until the shell asks for the next line: what is typed before that is
// lost when the shell sets the terminal.
func prompts(t *testing.T, term *e2e.Terminal, end string) {
	t.Helper()
	if err := term.Until(e2e.Patience, "a prompt", func(screen string) bool {
		return strings.HasSuffix(strings.TrimRight(screen, " \n"), end)
	}); err != nil {
		t.Fatal(err)
	}
}

func ends(t *testing.T, term *e2e.Terminal, want int) {
	t.Helper()
	code, err := term.Wait(e2e.Patience)
	if err != nil {
		t.Fatal(err)
	}
	if code != want {
		t.Errorf("status %d, want %d; the screen is:\n%s", code, want, term.Text())
	}
}

func TestTerminalSession(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := h.Terminal(80, 24, "run")
	shows(t, term, "#")
	typed(t, term, "PS1='@ '; for f in 0 1 2; do test -t $f && echo fd$f:tty; done; stty size; echo ctty > /dev/tty\r")
	for _, want := range []string{"fd0:tty", "fd1:tty", "fd2:tty", "24 80", "\nctty"} {
		shows(t, term, want)
	}
	if err := term.Resize(100, 30); err != nil {
		t.Fatal(err)
	}
	typed(t, term, "clear; sh -c 'trap \"stty size\" WINCH; sleep 1000 & echo tra\"\"ps; while :; do wait; done'\r")
	shows(t, term, "traps")
	if err := term.Resize(101, 31); err != nil {
		t.Fatal(err)
	}
	shows(t, term, "31 101")
	typed(t, term, "\x03")
	prompts(t, term, "@")
	// Job control inside is the guest's own: Ctrl-Z stops the guest's job.
	typed(t, term, "clear; sh -c 'echo rea\"\"ding; read line'\r")
	shows(t, term, "reading")
	typed(t, term, "\x1a")
	shows(t, term, "Stopped")
	prompts(t, term, "@")
	// The shell may hear of the job's end late, and then leaves only when asked twice.
	typed(t, term, "kill -KILL %1; wait; exit 9; exit 9\r")
	ends(t, term, 9)
}

// The command starts no other: gVisor loses a signal that meets a vfork.
func TestInterruptInATerminal(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := h.Terminal(80, 24, "run", "--", "sh", "-c", "echo ready; read x")
	shows(t, term, "ready")
	typed(t, term, "\x03")
	ends(t, term, 130)
	term = h.Terminal(80, 24, "run", "--", "sh", "-c", "echo ready; read x")
	shows(t, term, "ready")
	typed(t, term, "\x1c")
	ends(t, term, 131)
}

// A real shell with job control starts lazaret: its own Ctrl-Z gives the terminal
// back as it was, and fg goes on where it stopped.
func TestLocalSuspendRestoresTheTerminal(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := shell(t, h)
	typed(t, term, "stty -a > before; "+h.Program+" run -- bash --norc\r")
	shows(t, term, "#")
	typed(t, term, "PS1='in''side@ '; printf '\\033[?1000h'\r")
	shows(t, term, "inside@")
	if term.Modes().Mouse == screen.MouseOff {
		t.Error("the guest's modes did not reach the terminal")
	}
	typed(t, term, "\r")
	typed(t, term, "~\x1a")
	shows(t, term, "Stopped")
	typed(t, term, "stty -a > after; cmp before after && echo same:terminal\r")
	shows(t, term, "same:terminal")
	if m := term.Modes(); m.Mouse != screen.MouseOff {
		t.Errorf("modes are left: %+v", m)
	}
	typed(t, term, "clear; fg; echo back:$?\r")
	shows(t, term, "run -- bash")
	typed(t, term, "clear; echo run''s\r")
	shows(t, term, "runs")
	if term.Modes().Mouse == screen.MouseOff {
		t.Error("the guest's modes were not taken up again")
	}
	typed(t, term, "exit 4\r")
	shows(t, term, "back:4")
	typed(t, term, "stty -a > after; cmp before after && echo still:same\r")
	shows(t, term, "still:same")
	typed(t, term, "exit\r")
	ends(t, term, 0)
}

// shell is an interactive shell of the host's in a terminal.
func shell(t *testing.T, h *e2e.Home) *e2e.Terminal {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "--norc", "--noprofile", "-i")
	cmd.Dir, cmd.Env = h.Workspace, append(h.Env, "PS1=host> ", "HISTFILE=")
	term, err := e2e.Start(cmd, 80, 24)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		term.Close()
		cmd.Process.Kill()
		term.Wait(e2e.Patience)
	})
	shows(t, term, "host>")
	return term
}

// TestTerminalIsSaneAfterDeath ends the client from outside. What can be caught
// restores the terminal; after SIGKILL the session is gone all the same.
func TestTerminalIsSaneAfterDeath(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	for signal, restored := range map[unix.Signal]bool{unix.SIGTERM: true, unix.SIGHUP: true, unix.SIGKILL: false} {
		term := shell(t, h)
		typed(t, term, "stty -a > before; "+h.Program+" run -- sh -c 'printf \"\\033[?1000h\\033[?25l\"; echo rea''dy; exec sleep 1000'; echo le''ft:$?\r")
		shows(t, term, "ready")
		family := slices.DeleteFunc(h.Family(), func(k e2e.Kin) bool { return k.Role == "bash" })
		h.Find("client").Signal(t, signal)
		shows(t, term, "left:")
		if !restored {
			typed(t, term, "stty sane\r")
		}
		typed(t, term, "stty -a > after; echo check''ed\r")
		shows(t, term, "checked")
		if restored {
			if before, after := h.Read("before"), h.Read("after"); before == "" || before != after {
				t.Errorf("%v: stty before:\n%s\nafter:\n%s", signal, before, after)
			}
			if m := term.Modes(); m.Mouse != screen.MouseOff {
				t.Errorf("%v: the mouse is still tracked: %+v", signal, m)
			}
		}
		e2e.AwaitGone(t, family)
		typed(t, term, "exit\r")
		ends(t, term, 0)
		h.AwaitStopped()
	}
}

// The smallest terminal there is, and one that is resized to it. The shell inside
// waits in wait: gVisor may lose a signal that meets it starting a program.
func TestTinyTerminal(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := h.Terminal(1, 1, "run", "--", "sh", "-c", "stty size > size; exit 6")
	ends(t, term, 6)
	if got := strings.TrimSpace(h.Read("size")); got != "1 1" {
		t.Errorf("size inside: %q", got)
	}
	term = h.Terminal(80, 24, "run", "--", "sh", "-c", "trap 'stty size > size; exit 8' WINCH; sleep 1000 & echo ready; wait")
	shows(t, term, "ready")
	if err := term.Resize(1, 1); err != nil {
		t.Fatal(err)
	}
	ends(t, term, 8)
}

// T01: characters a guest pushes into its own terminal (TIOCSTI) must not arrive as
// typed on the host.
func TestGuestCannotTypeOnTheHost(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	mark := filepath.Join(h.Dir, "typed") // not there inside
	h.Write("push.py", "import fcntl\ntry:\n    for c in 'touch "+mark+
		"\\n': fcntl.ioctl(0, 0x5412, c.encode())\nexcept OSError as e:\n    print('refused', e.errno)\n")
	term := shell(t, h)
	typed(t, term, h.Program+" run -- python3 push.py; echo le''ft:$?\r")
	shows(t, term, "left:0")
	typed(t, term, "echo still''here\r")
	shows(t, term, "stillhere")
	if _, err := os.Lstat(mark); err == nil || strings.Contains(term.Text(), "> touch ") {
		t.Errorf("typed on the host:\n%s", term.Text())
	}
	typed(t, term, "exit\r")
	ends(t, term, 0)
}
