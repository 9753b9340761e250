package app_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/term"
)

// outerTerm stands for the developer's terminal: a PTY whose other side is our own
// emulator.
type outerTerm struct {
	t   testing.TB
	f   *os.File
	cmd *exec.Cmd

	mu    sync.Mutex
	emu   term.Emulator
	bytes int
	news  chan struct{} // capacity 1: output came
	ended chan struct{}
}

// drive runs a program on a terminal of w by h cells.
func drive(t testing.TB, w, h int, env []string, argv ...string) *outerTerm {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(append(os.Environ(), "TERM=xterm-256color", "PS1=ready> ", "NO_COLOR="), env...)
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: uint16(h), Cols: uint16(w)})
	if err != nil {
		t.Fatal(err)
	}
	o := &outerTerm{
		t: t, f: f, cmd: cmd, emu: term.New(w, h, term.Options{}),
		news: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go o.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		f.Close()
		<-o.ended
	})
	return o
}

// driveDashboard runs the dashboard of this test binary.
func driveDashboard(t testing.TB, w, h int, env []string, session ...string) *outerTerm {
	t.Helper()
	return drive(t, w, h, env, append([]string{os.Args[0], dashboardMode}, session...)...)
}

func (o *outerTerm) read() {
	defer close(o.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := o.f.Read(buf)
		if n > 0 {
			o.mu.Lock()
			o.emu.Write(buf[:n])
			o.bytes += n
			replies := o.emu.TakeReplies()
			o.mu.Unlock()
			if len(replies) > 0 {
				_, _ = o.f.Write(replies)
			}
			select {
			case o.news <- struct{}{}:
			default:
			}
		}
		if err != nil {
			_ = o.cmd.Wait()
			return
		}
	}
}

func (o *outerTerm) screen() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.emu.Frame(0).String()
}

func (o *outerTerm) modes() term.Modes {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.emu.Modes()
}

func (o *outerTerm) written() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.bytes
}

func (o *outerTerm) typed(s string) {
	o.t.Helper()
	if _, err := o.f.WriteString(s); err != nil {
		o.t.Fatalf("type %q: %v", s, err)
	}
}

// await waits until the screen satisfies ok.
func (o *outerTerm) await(what string, ok func(screen string) bool) {
	o.t.Helper()
	deadline := time.After(15 * time.Second)
	for {
		if ok(o.screen()) {
			return
		}
		select {
		case <-o.news:
		case <-deadline:
			o.t.Fatalf("%s did not happen; the screen shows:\n%s", what, o.screen())
		}
	}
}

func (o *outerTerm) awaitText(text string) {
	o.t.Helper()
	o.await(fmt.Sprintf("%q", text), func(s string) bool { return strings.Contains(s, text) })
}

// awaitPrompt waits for the shell's prompt below text. What is typed next begins
// with ctrl-u: an answer to the dead dashboard's queries may stand there.
func (o *outerTerm) awaitPrompt(text string) {
	o.t.Helper()
	o.await("the prompt after "+text, func(s string) bool {
		_, below, found := strings.Cut(s, text)
		return found && strings.Contains(below, "ready>")
	})
}

// sane fails unless the terminal is as a shell expects it.
func (o *outerTerm) sane() {
	o.t.Helper()
	m := o.modes()
	if m.AltScreen || m.BracketedPaste || m.FocusEvents || m.Mouse != term.MouseOff || m.KittyFlags != 0 || m.Synchronized {
		o.t.Errorf("modes left on: %+v", m)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.emu.Frame(0).Cursor.Visible {
		o.t.Error("the cursor is hidden")
	}
}

// shell runs the dashboard from an interactive shell, which then shows whether the
// terminal is usable.
func shell(t *testing.T, env []string, session ...string) *outerTerm {
	t.Helper()
	inputrc := filepath.Join(t.TempDir(), "inputrc")
	if err := os.WriteFile(inputrc, []byte("set enable-bracketed-paste off\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := drive(t, 90, 24, append(env, "INPUTRC="+inputrc), "bash", "--norc", "--noprofile", "-i")
	o.awaitText("ready>")
	line := make([]string, 0, len(session)+2)
	for _, w := range append([]string{os.Args[0], dashboardMode}, session...) {
		line = append(line, "'"+w+"'")
	}
	o.typed("clear; " + strings.Join(line, " ") + "; echo status=$?=\r")
	return o
}

// usable types a command into the shell the dashboard was started from.
func (o *outerTerm) usable(status int) {
	o.t.Helper()
	o.awaitPrompt(fmt.Sprintf("status=%d=", status))
	o.typed("\x15stty -a; echo the-shell-$((40+2))\r")
	o.awaitText("the-shell-42")
	s := o.screen()
	for _, want := range []string{" icanon", " echo ", " isig", "icrnl", "opost"} {
		if !strings.Contains(strings.ReplaceAll(s, "\n", " "), want) {
			o.t.Errorf("terminal setting%s is off:\n%s", want, s)
		}
	}
	o.sane()
}

func dashboardPID(t *testing.T, shell int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", shell, shell))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(b))
	if len(fields) != 1 {
		t.Fatalf("the shell has children %v", fields)
	}
	pid, _ := strconv.Atoi(fields[0])
	return pid
}

func TestQuitLeavesTheTerminalClean(t *testing.T) {
	t.Parallel()
	o := shell(t, nil, "cat")
	o.awaitText("running")
	o.typed("hello\r")
	o.awaitText("hello")
	o.typed("\x07q")
	o.awaitText("Quit and end")
	o.typed("y")
	o.usable(0)
}

func TestSignalsLeaveTheTerminalClean(t *testing.T) {
	t.Parallel()
	for name, sig := range map[string]syscall.Signal{"hangup": unix.SIGHUP, "terminate": unix.SIGTERM, "interrupt": unix.SIGINT} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := shell(t, nil, "cat")
			o.awaitText("running")
			if err := unix.Kill(dashboardPID(t, o.cmd.Process.Pid), sig); err != nil {
				t.Fatal(err)
			}
			o.usable(128 + int(sig))
		})
	}
}

func TestPanicLeavesTheTerminalClean(t *testing.T) {
	t.Parallel()
	o := shell(t, nil, "__panic")
	o.usable(2)
}

// The next start repairs what a killed one left behind.
func TestKilledIsRepairedByTheNextStart(t *testing.T) {
	t.Parallel()
	o := shell(t, nil, "cat")
	o.awaitText("running")
	if err := unix.Kill(dashboardPID(t, o.cmd.Process.Pid), unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	o.awaitPrompt("status=137=")
	o.typed("\x15clear; '" + os.Args[0] + "' " + dashboardMode + " cat; echo status=$?=\r")
	o.await("the old picture to go", func(s string) bool { return !strings.Contains(s, "Killed") })
	o.awaitText("running")
	o.typed("\x07q")
	o.awaitText("Quit and end")
	o.typed("y")
	o.awaitText("status=0=")
	o.sane()
}

// Closing the terminal's window ends the dashboard and its sessions.
func TestTerminalGone(t *testing.T) {
	t.Parallel()
	for range 5 {
		// The output lets the reader notice that it is to close the terminal.
		o := driveDashboard(t, 80, 24, nil, "sh", "-c", "while :; do date +%N; sleep 0.05; done")
		o.awaitText("running")
		pid := o.cmd.Process.Pid
		o.f.Close()
		awaitGone(t, pid)
	}
}

// A terminal that takes no more bytes keeps nobody from ending the dashboard.
func TestStuckTerminal(t *testing.T) {
	t.Parallel()
	o := driveDashboard(t, 80, 24, nil, "sh", "-c", "while :; do seq 1 1000; done")
	o.awaitText("running")
	o.mu.Lock() // nothing is read from here on
	defer o.mu.Unlock()
	<-time.After(300 * time.Millisecond)
	if err := o.cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	awaitGone(t, o.cmd.Process.Pid)
}

// awaitGone waits until a process has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(10 * time.Second)
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || bytes.Contains(b, []byte(") Z ")) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("process %d is still there", pid)
		}
	}
}

func TestSuspendAndContinue(t *testing.T) {
	t.Parallel()
	o := shell(t, nil, "cat")
	o.awaitText("running")
	o.typed("before\r")
	o.await("the echo", func(s string) bool { return strings.Count(s, "before") == 2 })
	o.typed("\x07\x1a")
	o.awaitText("Stopped")
	o.await("the prompt", func(s string) bool { return strings.HasSuffix(strings.TrimSpace(s), "ready>") })
	o.sane()
	o.typed("echo in-$((1+1))-between\r")
	o.awaitText("in-2-between")
	o.typed("fg\r")
	o.await("the dashboard's return", func(s string) bool {
		return strings.Count(s, "before") == 2 && strings.Contains(s, "running") && !strings.Contains(s, "between")
	})
	o.typed("after\r")
	o.await("the echo", func(s string) bool { return strings.Count(s, "after") == 2 })
}

func TestOnePixelTerminal(t *testing.T) {
	t.Parallel()
	o := driveDashboard(t, 1, 1, nil, "cat")
	o.await("a picture", func(s string) bool { return strings.TrimSpace(s) != "" })
	o.mu.Lock() // the outer terminal grows before the program hears of it
	o.emu.Resize(80, 24)
	o.mu.Unlock()
	if err := pty.Setsize(o.f, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	o.awaitText("running")
}

// An idle dashboard writes nothing. What it costs the processor is the
// benchmarks' business.
func TestIdleWritesNothing(t *testing.T) {
	o := driveDashboard(t, 100, 30, nil, "cat")
	o.awaitText("running")
	<-time.After(700 * time.Millisecond) // what belongs to the start has been drawn
	before := o.written()
	<-time.After(2 * time.Second)
	if n := o.written() - before; n != 0 {
		t.Errorf("%d bytes written while idle", n)
	}
}

// echoTimes types single keys into an idle pane that runs cat and returns how long
// each took to be on the outer terminal's wire.
func (o *outerTerm) echoTimes(n int) []time.Duration {
	o.t.Helper()
	times := make([]time.Duration, 0, n)
	for i := range n {
		<-time.After(20 * time.Millisecond)
		for len(o.news) > 0 {
			<-o.news
		}
		start := time.Now()
		key := string(rune('a' + i%26))
		o.typed(key)
		select {
		case <-o.news:
			times = append(times, time.Since(start))
		case <-time.After(5 * time.Second):
			o.t.Fatal("a key was not echoed")
		}
		if i%40 == 39 {
			o.typed("\x15")
			<-time.After(20 * time.Millisecond)
		}
	}
	slices.Sort(times)
	return times
}

func BenchmarkKeyEcho(b *testing.B) {
	tmux, err := exec.LookPath("tmux")
	if err != nil {
		b.Fatal("tmux is needed for comparison")
	}
	for name, start := range map[string]func() *outerTerm{
		"lazaret": func() *outerTerm { return driveDashboard(b, 200, 60, nil, "cat") },
		"tmux": func() *outerTerm {
			socket := filepath.Join(b.TempDir(), "tmux")
			b.Cleanup(func() { _ = exec.Command(tmux, "-S", socket, "kill-server").Run() })
			return drive(b, 200, 60, nil, tmux, "-S", socket, "-f", "/dev/null", "new-session", "cat")
		},
	} {
		b.Run(name, func(b *testing.B) {
			o := start()
			o.await("a picture", func(s string) bool { return strings.TrimSpace(s) != "" })
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			<-ctx.Done()
			cancel()
			times := o.echoTimes(max(20, b.N))
			b.ReportMetric(float64(times[len(times)/2].Microseconds()), "µs-median")
			b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), "µs-p95")
			b.ReportMetric(0, "ns/op")
		})
	}
}
