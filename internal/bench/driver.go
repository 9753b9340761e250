package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/handover"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
)

// open opens a session as a client of our own, which approves whatever is asked.
func (w *world) open(ctx context.Context, argv ...string) (*client.Session, error) {
	opener := spawn.Opener{
		Plan: w.plan, Path: w.program("lazaret"), Args: []string{"lazaret", handover.Mode}, Env: w.env,
	}
	return opener.Open(ctx, spawn.Request{Profile: "shell", Workspace: w.config.Workspace, Start: wire.Start{Argv: argv}}, func(string) {})
}

func (w *world) plan(context.Context, string, string, func(string)) (plan.Plan, error) {
	around := plan.Surroundings{
		IDs: w.ids, Environ: w.env, GuestBinary: w.program("lazaret-escalate"), Runsc: w.program("runsc"),
		Lower: plan.Lower{ID: w.lower.ID, Rootfs: w.lower.Rootfs, Env: w.lower.Env, User: w.lower.User},
	}
	var err error
	if around.RuntimeDir, err = w.config.RuntimeDir(); err != nil {
		return plan.Plan{}, err
	}
	return plan.Build(w.config, "shell", around)
}

// follow hands the session's standard output to out until its end, approving every
// request.
func follow(s *client.Session, out io.Writer) error {
	for event := range s.Events() {
		switch e := event.(type) {
		case client.Output:
			if _, err := out.Write(e.Data); err != nil {
				return err
			}
		case client.Pending:
			if err := s.Decide(e.Pending, escalate.VerdictApprove, nil, ""); err != nil {
				return fmt.Errorf("approve: %w", err)
			}
		case client.Exit:
			if e.Code != 0 {
				return fmt.Errorf("the session's command ended with %d", e.Code)
			}
		case client.Lost:
			return e.Err
		}
	}
	return nil
}

// escalations times a request from inside that is approved at once, beside the same
// program run inside. Both are whole commands of a shell: start, work, end.
func escalations(ctx context.Context, w *world) ([]Figure, error) {
	f := Figure{Name: "escalation round trip", Unit: "ms", PeerIs: "the program run inside",
		Note: "lazaret-escalate -- /bin/true, approved by a program, to its end"}
	rounds := w.rounds(15) + 1 // a session may ask 20 times at once
	script := fmt.Sprintf("echo; for i in $(seq %d); do lazaret-escalate -- /bin/true || exit 9; echo; /bin/true; echo; done", rounds)
	s, err := w.open(ctx, "sh", "-c", script)
	if err != nil {
		return nil, err
	}
	defer func() {
		_ = s.Close()
		_ = w.awaitStopped(ctx, "shell", w.workspace)
	}()
	var lines lineClock
	if err := follow(s, &lines); err != nil {
		return nil, err
	}
	if len(lines) != 2*rounds+1 {
		return nil, fmt.Errorf("got %d lines, want %d", len(lines), 2*rounds+1)
	}
	var asked, plain []float64
	for i := 3; i < len(lines); i += 2 { // the first round does not count
		asked = append(asked, milliseconds(lines[i].Sub(lines[i-1])))
		plain = append(plain, milliseconds(lines[i+1].Sub(lines[i])))
	}
	f.Ours = sample(asked)
	peer := sample(plain)
	f.Peer = &peer
	return []Figure{f}, nil
}

// lineClock notes when each line came.
type lineClock []time.Time

func (c *lineClock) Write(p []byte) (int, error) {
	now := time.Now()
	for range bytes.Count(p, []byte("\n")) {
		*c = append(*c, now)
	}
	return len(p), nil
}
