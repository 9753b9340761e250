package server

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// installer runs the profile's install step, at most once per generation at a
// time, before the first session's command. What it installs lies in the State
// Anchor, so a stamp in the Domain Root with the digest of its text says that it
// need not run again.
type installer struct {
	server *Server

	mu      sync.Mutex
	done    bool
	running chan struct{} // nil when none runs; closed at its end
	err     error         // of the last run
	watch   map[*func(wire.Notice)]struct{}

	// ctx ends a run whose Domain is going down.
	ctx    context.Context
	cancel context.CancelFunc
}

func newInstaller(s *Server) *installer {
	i := &installer{server: s, watch: map[*func(wire.Notice)]struct{}{}}
	i.ctx, i.cancel = context.WithCancel(context.Background())
	i.done = s.cfg.Plan.Install == "" || i.stamped()
	return i
}

func (i *installer) stampPath() string { return filepath.Join(i.server.cfg.Plan.Root(), "installed") }
func (i *installer) logPath() string {
	return filepath.Join(i.server.cfg.Plan.Root(), "log", "install.log")
}

func (i *installer) digest() string {
	sum := sha256.Sum256([]byte(i.server.cfg.Plan.Install))
	return hex.EncodeToString(sum[:])
}

func (i *installer) stamped() bool {
	stamp, err := os.ReadFile(i.stampPath())
	return err == nil && strings.TrimSpace(string(stamp)) == i.digest()
}

func (i *installer) close() { i.cancel() }

// await returns when the step has been done, running it when nobody does. Its
// output goes to the notify of everyone who waits.
func (i *installer) await(ctx context.Context, notify func(wire.Notice)) error {
	i.mu.Lock()
	if i.done {
		i.mu.Unlock()
		return nil
	}
	if i.running == nil {
		i.running = make(chan struct{})
		i.server.handlers.Go(i.run)
	}
	running := i.running
	i.watch[&notify] = struct{}{}
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		delete(i.watch, &notify)
		i.mu.Unlock()
	}()
	select {
	case <-running:
		i.mu.Lock()
		defer i.mu.Unlock()
		return i.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (i *installer) tell(level wire.Level, text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for notify := range i.watch {
		(*notify)(wire.Notice{Level: level, Text: text})
	}
}

// run does the step once and records how it ended.
func (i *installer) run() {
	i.tell(wire.LevelInfo, "setting up profile "+i.server.cfg.Plan.Profile+" (once); log: "+i.logPath())
	err := i.execute()
	if err == nil {
		err = os.WriteFile(i.stampPath(), []byte(i.digest()+"\n"), 0o600)
	}
	if err != nil {
		i.server.cfg.Log.Error("install step", "err", err)
		err = &fault.Error{
			Kind:    fault.Sandbox,
			Message: fmt.Sprintf("the install step of profile %q did not succeed; its output is in %s", i.server.cfg.Plan.Profile, i.logPath()),
			Fix:     "correct the profile's install text or the network; it is tried again at the next session",
			Err:     err,
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err, i.done = err, err == nil
	close(i.running)
	i.running = nil
}

// execute runs the text as a session of its own, without a client.
func (i *installer) execute() error {
	log, err := os.OpenFile(i.logPath(), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open install log: %w", err)
	}
	defer log.Close()
	stdin, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer stdin.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	p := i.server.cfg.Plan
	proc, err := i.server.cfg.Sandbox.Exec(i.ctx, runtime.ExecSpec{
		Session: domain.NewSessionID(),
		Argv:    []string{"/bin/sh", "-ec", p.Install},
		Env:     []string{"DEBIAN_FRONTEND=noninteractive"},
		Dir:     "/",
		Stdin:   stdin, Stdout: w, Stderr: w,
	})
	w.Close()
	if err != nil {
		return fmt.Errorf("start install step: %w", err)
	}
	stop := context.AfterFunc(i.ctx, func() { _, _ = proc.End(context.Background()) })
	defer stop()
	go func() {
		<-proc.Done()
		// What the step left running must not hold its output open for ever.
		_, _ = proc.End(i.ctx)
		r.SetReadDeadline(time.Now().Add(i.server.cfg.Grace.Drain))
	}()
	i.follow(io.TeeReader(r, log))
	<-proc.Done()
	if exit := proc.Exit(); exit.Lost || exit.Code != 0 {
		return fmt.Errorf("it ended with status %d", exit.Code)
	}
	return nil
}

const maxInstallLine = 4096

// follow sends each line on as a notice until the output ends.
func (i *installer) follow(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxInstallLine)
	for {
		line, _, err := lines.ReadLine()
		if text := strings.TrimRight(string(line), "\r"); text != "" {
			i.tell(wire.LevelInfo, strings.ToValidUTF8(text, "\uFFFD"))
		}
		if err != nil {
			return
		}
	}
}
