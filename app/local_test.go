package app_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/pprof"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/outer"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// dashboardMode makes this test binary the real dashboard on the controlling
// terminal, its sessions being plain programs of this host: everything but the
// sandbox is the real thing.
const dashboardMode = "__dashboard"

// runDashboard is the dashboard mode. Its arguments are the command of a session.
func runDashboard(argv []string) int {
	theme, err := themes.Lookup(os.Getenv("LAZARET_TEST_THEME"), os.Getenv("NO_COLOR") != "")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if path := os.Getenv("LAZARET_TEST_PROFILE"); path != "" {
		if f, err := os.Create(path); err == nil {
			_ = pprof.StartCPUProfile(f)
			defer pprof.StopCPUProfile()
		}
	}
	err = app.Run(context.Background(), app.Options{
		Sessions: &localSessions{argv: argv}, Workspace: "/tmp", First: "local", Theme: theme,
		NewEmulator: func(cols, rows int) term.Emulator { return term.New(cols, rows, term.Options{}) },
	}, outer.Detect(os.Getenv))
	var sig *app.SignalError
	if errors.As(err, &sig) {
		return 128 + int(sig.Signal)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

type localSessions struct{ argv []string }

func (s *localSessions) Profiles() []views.ProfileInfo {
	return []views.ProfileInfo{{Name: "local", Command: strings.Join(s.argv, " "), Default: true}}
}

func (s *localSessions) Open(_ context.Context, req app.OpenRequest, progress func(string)) (app.Attachment, error) {
	progress("starting a program of this host")
	argv := s.argv
	if len(req.Argv) > 0 {
		argv = req.Argv
	}
	if argv[0] == "__panic" {
		panic("the session opener panics")
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMUX=")
	f, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: req.Size.Rows, Cols: req.Size.Cols})
	if err != nil {
		return nil, err
	}
	l := &local{f: f, cmd: cmd, req: req, id: domain.NewSessionID(), events: make(chan client.Event, 32), gone: make(chan struct{})}
	go l.read()
	return l, nil
}

// local is a session that is a program on a terminal of this host.
type local struct {
	f      *os.File
	cmd    *exec.Cmd
	req    app.OpenRequest
	id     domain.SessionID
	events chan client.Event
	gone   chan struct{}
	once   sync.Once
}

func (l *local) deliver(ev client.Event) {
	select {
	case l.events <- ev:
	case <-l.gone:
	}
}

func (l *local) read() {
	defer close(l.events)
	if ask := os.Getenv("LAZARET_TEST_REQUEST"); ask != "" {
		l.deliver(client.Pending{Pending: l.pending(strings.Fields(ask))})
	}
	for {
		buf := make([]byte, 32<<10)
		n, err := l.f.Read(buf)
		if n > 0 {
			l.deliver(client.Output{Stream: wire.StreamTTY, Data: buf[:n]})
		}
		if err != nil {
			break
		}
	}
	code := 0
	if err := l.cmd.Wait(); err != nil {
		code = 1
	}
	if s, ok := l.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		code = 128 + int(s.Signal())
	} else if ok {
		code = s.ExitStatus()
	}
	l.deliver(client.Exit{Code: code})
}

func (l *local) pending(argv []string) escalate.Pending {
	now := time.Now().Unix()
	return escalate.Pending{
		Request: escalate.Request{ID: domain.NewRequestID(), Session: l.id, Argv: argv, Dir: ".", Why: "to see the card"},
		Profile: "local", Program: "/usr/bin/" + argv[0], HostDir: "/tmp", HostUser: "root", ReceivedUnix: now, ExpiresUnix: now + 600,
	}
}

func (l *local) Welcome() wire.Welcome {
	return wire.Welcome{Session: l.id, Profile: l.req.Profile, Workspace: l.req.Workspace}
}
func (l *local) Events() <-chan client.Event { return l.events }
func (l *local) Write(p []byte) (int, error) { return l.f.Write(p) }
func (l *local) Resize(s wire.Size) error {
	return pty.Setsize(l.f, &pty.Winsize{Rows: s.Rows, Cols: s.Cols})
}
func (l *local) End() error { return l.cmd.Process.Signal(syscall.SIGHUP) }
func (l *local) Close() error {
	l.once.Do(func() { close(l.gone); l.f.Close() })
	return nil
}
func (l *local) Decide(p escalate.Pending, v escalate.Verdict, argv []string, reason string) error {
	outcome, detail := escalate.OutcomeDenied, reason
	if v == escalate.VerdictApprove {
		outcome, detail = escalate.OutcomeRan, "exit status 0"
	}
	go l.deliver(client.Resolved{Request: p.Request.ID, Outcome: outcome, Detail: detail})
	return nil
}
