package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// A shell inside runs what it is given, a line each, and answers with a line of its
// status, and after a failure with the last it wrote.
const shellProgram = `echo READY
while IFS= read -r line; do
	eval "$line" >/tmp/said 2>&1 </dev/null
	status=$?
	if [ $status = 0 ]; then echo 0; else echo $status "$(tail -c 400 /tmp/said | tr '\n' ' ')"; fi
done`

// lineShell is a shell inside, as seen from outside.
type lineShell struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// startShell starts cmd, which runs shellProgram, and waits for it.
func startShell(cmd *exec.Cmd) (*lineShell, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	s := &lineShell{in: in, out: bufio.NewReader(out)}
	if line, err := s.out.ReadString('\n'); line != "READY\n" {
		in.Close()
		return nil, errors.Join(fmt.Errorf("the shell of %s says %q: %w", cmd.Path, line, err), cmd.Wait())
	}
	return s, nil
}

// do runs a line and returns how long that took.
func (s *lineShell) do(script string) (time.Duration, error) {
	begun := time.Now()
	if _, err := io.WriteString(s.in, script+"\n"); err != nil {
		return 0, fmt.Errorf("ask the shell inside: %w", err)
	}
	answer, err := s.out.ReadString('\n')
	took := time.Since(begun)
	if err != nil {
		return 0, fmt.Errorf("read the answer of the shell inside: %w", err)
	}
	if answer = strings.TrimSpace(answer); answer != "0" {
		return 0, fmt.Errorf("inside, %q ended with %s", script, answer)
	}
	return took, nil
}

// room is a sandbox with a shell in a tree.
type room interface {
	// do runs a line inside and returns the milliseconds that took.
	do(script string) (float64, error)
	// end returns when the sandbox is gone.
	end()
}

// ourRoom is a Domain of its own.
type ourRoom struct {
	*lineShell
	w         *world
	cmd       *exec.Cmd
	workspace string
	begun     time.Time
}

// openRoom starts a Domain in a workspace.
func (w *world) openRoom(ctx context.Context, workspace string) (*ourRoom, error) {
	cmd := w.command(ctx, "run", toolsProfile, "--", "sh", "-c", shellProgram)
	cmd.Dir = workspace
	begun := time.Now()
	s, err := startShell(cmd)
	if err != nil {
		return nil, err
	}
	return &ourRoom{s, w, cmd, workspace, begun}, nil
}

// daemon is the process that serves the workspace of a room.
func (r *ourRoom) daemon(ctx context.Context) (int, error) {
	processes, err := r.w.processes(ctx, toolsProfile, r.workspace)
	if err != nil {
		return 0, err
	}
	for _, p := range processes {
		if p.role == roleWorkspace {
			return p.id, nil
		}
	}
	return 0, errors.New("no process serves the workspace")
}

// rests waits until the daemon has nothing to do, and returns how long after the start of
// the room that was.
func (r *ourRoom) rests(ctx context.Context, daemon int) (time.Duration, error) {
	const look, enough = 50 * time.Millisecond, 8 // looks without work between them
	last, since, still := time.Duration(-1), time.Now(), 0
	for still < enough {
		used, err := processorTime(daemon)
		if err != nil {
			return 0, err
		}
		if used != last {
			last, since, still = used, time.Now(), 0
		}
		still++
		pause(ctx, look)
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
	return since.Sub(r.begun), nil
}

func (r *ourRoom) do(script string) (float64, error) {
	took, err := r.lineShell.do(script)
	return milliseconds(took), err
}

func (r *ourRoom) end() {
	r.in.Close()
	_ = r.cmd.Wait()
	_ = r.w.awaitStopped(context.Background(), toolsProfile, r.workspace)
}

// peerRoom is the peer's sandbox.
type peerRoom struct{ *peer }

func openPeerRoom(p *peer) (peerRoom, error) {
	_, err := p.do(orderWork)
	return peerRoom{p}, err
}

func (r peerRoom) do(script string) (float64, error) { return r.peer.do(orderDo + script) }

func (r peerRoom) end() { _, _ = r.peer.do(orderRest) }
