package main

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const showTime = 30 * time.Second

// hosts are the dashboard and tmux, each with a program in its one pane.
type hosts struct {
	world         *world
	profile       string
	lazaret, tmux *screen
	socket        string
}

// openHosts starts both with the program of a profile, which says READY.
func (w *world) openHosts(ctx context.Context, profile, ready string) (_ *hosts, err error) {
	h := &hosts{world: w, profile: profile, socket: "lazaret-bench-" + strconv.Itoa(os.Getpid())}
	defer func() {
		if err != nil {
			h.close(ctx)
		}
	}()
	settings := filepath.Join(w.dir, profile+".toml")
	if err := os.WriteFile(settings, fmt.Appendf(nil, "default_profile = %q\n", profile), 0o600); err != nil {
		return nil, fmt.Errorf("write the configuration: %w", err)
	}
	if h.lazaret, err = openScreen(w.command(ctx, "--config", settings)); err != nil {
		return nil, err
	}
	if err := h.lazaret.shows(ready, showTime); err != nil {
		return nil, err
	}
	program := w.config.Profiles[profile].Command
	tmux := exec.CommandContext(ctx, "tmux", append([]string{"-L", h.socket, "-f", "/dev/null", "new-session"}, program...)...)
	tmux.Dir, tmux.Env = w.workspace, w.env
	if h.tmux, err = openScreen(tmux); err != nil {
		return nil, err
	}
	if err := h.tmux.shows(ready, showTime); err != nil {
		return nil, err
	}
	pause(ctx, time.Second)
	return h, nil
}

func (h *hosts) close(ctx context.Context) {
	if h.lazaret != nil {
		h.lazaret.close()
		_ = h.world.awaitStopped(ctx, h.profile, h.world.workspace)
	}
	if h.tmux != nil {
		// Only the server of our own socket.
		_ = exec.Command("tmux", "-L", h.socket, "kill-server").Run()
		h.tmux.close()
	}
}

// tmuxServer is the process that draws.
func (h *hosts) tmuxServer() (int, error) {
	out, err := exec.Command("tmux", "-L", h.socket, "display-message", "-p", "#{pid}").Output()
	if err != nil {
		return 0, fmt.Errorf("ask tmux for its server: %w", err)
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}

// keys times a key until its echo is written out: from a program inside that has put
// its terminal into raw mode, which every byte has to reach, and from the terminal's
// own line editing before the same program.
func keys(ctx context.Context, w *world) ([]Figure, error) {
	var figures []Figure
	for _, k := range []struct{ name, profile string }{{"key to echo, raw", "raw"}, {"key to echo, line", "line"}} {
		f := Figure{Name: k.name, Unit: "ms", PeerIs: "tmux", MaxRatio: 6}
		if err := w.keysOf(ctx, k.profile, &f); err != nil {
			return figures, fmt.Errorf("%s: %w", k.name, err)
		}
		figures = append(figures, f)
	}
	return figures, nil
}

// letters are not in what either host draws around its pane.
const letters = "QXZJVK"

const keyTime = 2 * time.Second

func (w *world) keysOf(ctx context.Context, profile string, f *Figure) error {
	h, err := w.openHosts(ctx, profile, "READY")
	if err != nil {
		return err
	}
	defer h.close(ctx)
	random := rand.New(rand.NewPCG(3, 7)) //nolint:gosec // not a secret
	var ours, peer []float64
	previous := byte(0)
	for i := range w.rounds(200) + 2 {
		letter := letters[random.IntN(len(letters))]
		for letter == previous {
			letter = letters[random.IntN(len(letters))]
		}
		previous = letter
		for _, side := range []struct {
			s      *screen
			values *[]float64
		}{{h.lazaret, &ours}, {h.tmux, &peer}} {
			pause(ctx, 4*time.Millisecond+time.Duration(random.IntN(int(30*time.Millisecond))))
			took, err := side.s.answered(string(letter), string(letter), keyTime)
			if err != nil {
				return err
			}
			if i >= 2 {
				*side.values = append(*side.values, milliseconds(took))
			}
			if i%60 == 59 {
				if _, err := side.s.master.WriteString("\r\n"); err != nil {
					return fmt.Errorf("type: %w", err)
				}
				pause(ctx, 100*time.Millisecond)
			}
		}
	}
	f.Ours = sample(ours)
	s := sample(peer)
	f.Peer = &s
	return nil
}

const floodBytes = 20_000_000

// throughput times a program that writes 20 MB into a pane, until what it writes
// last is drawn.
func throughput(ctx context.Context, w *world) ([]Figure, error) {
	line := []byte("2026-09-05 12:00:00 INFO request served GET /api/v1/items 200 OK 12.3ms session agent token\n")
	text := bytes.Repeat(line, floodBytes/len(line))
	if err := os.WriteFile(filepath.Join(w.workspace, "flood"), text, 0o600); err != nil {
		return nil, fmt.Errorf("write the flood: %w", err)
	}
	h, err := w.openHosts(ctx, "flood", "READY")
	if err != nil {
		return nil, err
	}
	defer h.close(ctx)
	f := Figure{Name: "pane, 20 MB of text", Unit: "s", PeerIs: "tmux"}
	one := func(s *screen) func() (float64, error) {
		round := 0
		return func() (float64, error) {
			round++ // what is drawn at the end of one must not be taken for the next
			took, err := s.answered(fmt.Sprintf("%dQ\r", round), fmt.Sprintf("END%dQ", round), 2*time.Minute)
			if err != nil {
				return 0, err
			}
			pause(ctx, 300*time.Millisecond)
			return took.Seconds(), nil
		}
	}
	err = paired(&f, w.rounds(3), one(h.lazaret), one(h.tmux))
	return []Figure{f}, err
}

// idle is what both hosts do while nothing happens.
func idle(ctx context.Context, w *world) ([]Figure, error) {
	h, err := w.openHosts(ctx, "line", "READY")
	if err != nil {
		return nil, err
	}
	defer h.close(ctx)
	pause(ctx, idleTime)
	server, err := h.tmuxServer()
	if err != nil {
		return nil, err
	}
	used := func() (ours, peer time.Duration, err error) {
		if ours, err = processorTime(h.lazaret.cmd.Process.Pid); err != nil {
			return 0, 0, err
		}
		for _, id := range []int{server, h.tmux.cmd.Process.Pid} {
			t, err := processorTime(id)
			if err != nil {
				return 0, 0, err
			}
			peer += t
		}
		return ours, peer, nil
	}
	const watch = 10 * time.Second
	a1, b1, err := used()
	if err != nil {
		return nil, err
	}
	n1, m1 := h.lazaret.written(), h.tmux.written()
	pause(ctx, watch)
	a2, b2, err := used()
	if err != nil {
		return nil, err
	}
	share := func(d time.Duration) Sample { return sample([]float64{100 * d.Seconds() / watch.Seconds()}) }
	count := func(n int) Sample { return sample([]float64{float64(n)}) }
	peerCPU, peerBytes := share(b2-b1), count(h.tmux.written()-m1)
	return []Figure{
		{Name: "idle dashboard, 10 s, written", Unit: "bytes", Ours: count(h.lazaret.written() - n1), Peer: &peerBytes, PeerIs: "tmux", Max: atMost(0)},
		{Name: "idle dashboard, 10 s, processor", Unit: "%", Ours: share(a2 - a1), Peer: &peerCPU, PeerIs: "tmux", Max: atMost(1)},
	}, nil
}

// makeRun times `make run` with everything built until the shell's prompt.
func makeRun(ctx context.Context, w *world) ([]Figure, error) {
	f := Figure{Name: "second make run, to the prompt", Unit: "s", Max: atMost(3)}
	var took []float64
	for range w.rounds(3) + 1 {
		cmd := exec.CommandContext(ctx, "make", "--no-print-directory", "run")
		cmd.Dir, cmd.Env = w.repository, w.env
		begun := time.Now()
		s, err := openScreen(cmd)
		if err != nil {
			return nil, err
		}
		err = s.shows("/workspace#", 2*time.Minute)
		took = append(took, time.Since(begun).Seconds())
		s.close()
		if err != nil {
			return nil, err
		}
		if err := w.awaitStopped(ctx, "shell", w.repository); err != nil {
			return nil, err
		}
	}
	f.Ours = sample(took[1:])
	return []Figure{f}, nil
}
