package main

import (
	"context"
	"fmt"
)

// starts times the first byte of `lazaret run -- /bin/echo`: in a stopped Domain
// beside a whole bare `runsc run`, and in a live one beside a bare `runsc exec`.
func starts(ctx context.Context, w *world) ([]Figure, error) {
	p, err := startPeer(w)
	if err != nil {
		return nil, err
	}
	defer p.close()
	cold := Figure{Name: "cold start", Unit: "ms", PeerIs: "runsc run", MaxRatio: 2.2,
		Note: "to the first byte of /bin/echo; the peer runs in a prepared user namespace with the same image read-only, without network and overlays"}
	err = paired(&cold, w.rounds(15), func() (float64, error) { return w.echoCold(ctx) }, func() (float64, error) { return p.do(orderRun) })
	if err != nil {
		return nil, err
	}
	warm, err := w.warm(ctx, p)
	return []Figure{cold, warm}, err
}

// paired takes both sides in turn, after one round that does not count.
func paired(f *Figure, rounds int, ours, peer func() (float64, error)) error {
	var a, b []float64
	for i := range rounds + 1 {
		x, err := ours()
		if err != nil {
			return err
		}
		y, err := peer()
		if err != nil {
			return err
		}
		if i > 0 {
			a, b = append(a, x), append(b, y)
		}
	}
	f.Ours = sample(a)
	s := sample(b)
	f.Peer = &s
	return nil
}

func (w *world) echo(ctx context.Context) (float64, error) {
	took, err := firstByte(w.command(ctx, "run", "--", "/bin/echo", "x"))
	return milliseconds(took), err
}

func (w *world) echoCold(ctx context.Context) (float64, error) {
	took, err := w.echo(ctx)
	if err != nil {
		return 0, err
	}
	return took, w.awaitStopped(ctx, "shell", w.workspace)
}

func (w *world) warm(ctx context.Context, p *peer) (Figure, error) {
	f := Figure{Name: "second session", Unit: "ms", PeerIs: "runsc exec", MaxRatio: 2}
	stop, err := w.hold(ctx)
	if err != nil {
		return f, err
	}
	defer stop()
	if _, err := p.do(orderUp); err != nil {
		return f, err
	}
	err = paired(&f, w.rounds(25), func() (float64, error) { return w.echo(ctx) }, func() (float64, error) { return p.do(orderExec) })
	return f, err
}

// hold keeps the Domain up with one session until stop, which returns when the
// Domain is down.
func (w *world) hold(ctx context.Context) (stop func(), err error) {
	cmd := w.command(ctx, "run", "--", "sh", "-c", "echo x; exec cat")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	if _, _, err := startToFirstByte(cmd); err != nil {
		return nil, err
	}
	return func() {
		in.Close()
		_ = cmd.Wait()
		_ = w.awaitStopped(ctx, "shell", w.workspace)
	}, nil
}
