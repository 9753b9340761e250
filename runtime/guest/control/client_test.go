package control_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// fakeInit is the guest's end of a channel.
type fakeInit struct {
	in  *io.PipeReader // what the host sends
	out *io.PipeWriter // what the guest says
}

func connect(t *testing.T) (*control.Client, fakeInit) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := control.NewClient(inW, outR)
	t.Cleanup(func() { c.Close() })
	return c, fakeInit{in: inR, out: outW}
}

func (f fakeInit) say(t *testing.T, v any) {
	t.Helper()
	if err := control.WriteFrame(f.out, v); err != nil {
		t.Errorf("guest says: %v", err)
	}
}

func (f fakeInit) hear(t *testing.T) control.Request {
	t.Helper()
	var r control.Request
	if err := control.ReadFrame(f.in, &r); err != nil {
		t.Errorf("guest hears: %v", err)
	}
	return r
}

func (f fakeInit) ready(t *testing.T, c *control.Client) {
	t.Helper()
	f.say(t, control.Reply{Count: control.Version})
	if err := c.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestClientAsksAndIsAnswered(t *testing.T) {
	t.Parallel()
	c, guest := connect(t)
	guest.ready(t, c)
	session := domain.NewSessionID()
	go func() {
		for range 6 {
			r := guest.hear(t)
			reply := control.Reply{ID: r.ID}
			switch r.Op {
			case control.OpReadFile:
				reply.Data = []byte(r.Path)
			case control.OpEndSession:
				reply.Count = 7
			case control.OpStats:
				reply.Stats = &control.Stats{Processes: 3}
			}
			guest.say(t, reply)
		}
	}()
	ctx := t.Context()
	if err := c.Poke(ctx, "/workspace/a"); err != nil {
		t.Error(err)
	}
	if n, err := c.EndSession(ctx, session); n != 7 || err != nil {
		t.Errorf("EndSession = %d, %v", n, err)
	}
	if err := c.SignalSession(ctx, session, unix.SIGTERM); err != nil {
		t.Error(err)
	}
	if b, err := c.ReadFile(ctx, "/x", 2); string(b) != "/x" || err != nil {
		t.Errorf("ReadFile = %q, %v", b, err)
	}
	if err := c.WriteFile(ctx, "/x", 0o600, []byte("y")); err != nil {
		t.Error(err)
	}
	if s, err := c.Stats(ctx); s.Processes != 3 || err != nil {
		t.Errorf("Stats = %+v, %v", s, err)
	}
}

func TestClientNamesTheOutcomes(t *testing.T) {
	t.Parallel()
	for code, want := range map[control.Code]error{
		control.CodeNotFound:   control.ErrNotFound,
		control.CodeTooLarge:   control.ErrTooLarge,
		control.CodeNotRegular: control.ErrNotRegular,
	} {
		c, guest := connect(t)
		guest.ready(t, c)
		go func() { guest.say(t, control.Reply{ID: guest.hear(t).ID, Code: code}) }()
		if err := c.Poke(t.Context(), "/x"); !errors.Is(err, want) {
			t.Errorf("code %d gives %v, want %v", code, err, want)
		}
	}
}

func TestClientQuotesTheGuestsWords(t *testing.T) {
	t.Parallel()
	c, guest := connect(t)
	guest.ready(t, c)
	go func() {
		guest.say(t, control.Reply{ID: guest.hear(t).ID, Code: control.CodeFailed, Message: "\x1b[2Jok\u202e"})
	}()
	err := c.Poke(t.Context(), "/x")
	if err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") {
		t.Errorf("error %q carries control characters", err)
	}
}

// Every rule the guest can break ends the channel; the twin above keeps them all.
func TestClientEndsTheChannelOnViolation(t *testing.T) {
	t.Parallel()
	announce := binary.BigEndian.AppendUint32(nil, 1<<31)
	cases := map[string]func(t *testing.T, guest fakeInit, asked control.Request){
		"answer to nothing asked": func(t *testing.T, g fakeInit, r control.Request) { g.say(t, control.Reply{ID: r.ID + 1}) },
		"second ready":            func(t *testing.T, g fakeInit, _ control.Request) { g.say(t, control.Reply{Count: control.Version}) },
		"more data than asked": func(t *testing.T, g fakeInit, r control.Request) {
			g.say(t, control.Reply{ID: r.ID, Data: make([]byte, 5)})
		},
		"huge message": func(t *testing.T, g fakeInit, r control.Request) {
			g.say(t, control.Reply{ID: r.ID, Message: strings.Repeat("a", 513)})
		},
		"absurd count":    func(t *testing.T, g fakeInit, r control.Request) { g.say(t, control.Reply{ID: r.ID, Count: 1 << 31}) },
		"oversized frame": func(t *testing.T, g fakeInit, _ control.Request) { _, _ = g.out.Write(announce) },
		"not CBOR":        func(t *testing.T, g fakeInit, _ control.Request) { _, _ = g.out.Write([]byte{0, 0, 0, 1, 0xff}) },
		"cut short": func(t *testing.T, g fakeInit, _ control.Request) {
			_, _ = g.out.Write([]byte{0, 0, 0, 9, 1})
			g.out.Close()
		},
		"end of file": func(t *testing.T, g fakeInit, _ control.Request) { g.out.Close() },
	}
	for name, violate := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, guest := connect(t)
			guest.ready(t, c)
			go func() { violate(t, guest, guest.hear(t)) }()
			if _, err := c.ReadFile(t.Context(), "/x", 4); err == nil {
				t.Fatal("the answer was accepted")
			}
			select {
			case <-c.Done():
			case <-time.After(10 * time.Second):
				t.Fatal("the channel lives on")
			}
			if err := c.Poke(t.Context(), "/x"); err == nil {
				t.Fatal("the channel answers after its end")
			}
		})
	}
}

func TestClientRefusesAForeignFirstFrame(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]control.Reply{
		"other version": {Count: control.Version + 1},
		"an answer":     {ID: 1, Count: control.Version},
		"a failure":     {Code: control.CodeFailed, Count: control.Version},
		"large":         {Count: control.Version, Data: make([]byte, 4096)},
	} {
		c, guest := connect(t)
		go func() { _ = control.WriteFrame(guest.out, first) }()
		if err := c.Ready(t.Context()); err == nil {
			t.Errorf("%s was taken for ready", name)
		}
	}
}

// A guest that never reads may block the writer, but no caller.
func TestClientGivesUpOnADeafGuest(t *testing.T) {
	t.Parallel()
	c, guest := connect(t)
	guest.ready(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var err error
	for range 200 {
		if err = c.Poke(ctx, "/x"); errors.Is(err, control.ErrBusy) {
			break
		}
	}
	if !errors.Is(err, control.ErrBusy) {
		t.Errorf("requests to a deaf guest pile up: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// A late answer to a question its asker gave up on is no violation.
func TestClientDropsALateAnswer(t *testing.T) {
	t.Parallel()
	c, guest := connect(t)
	guest.ready(t, c)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan control.Request)
	go func() { asked <- guest.hear(t) }()
	answered := make(chan error, 1)
	go func() { answered <- c.Poke(ctx, "/x") }()
	first := <-asked
	cancel()
	if err := <-answered; !errors.Is(err, context.Canceled) {
		t.Fatalf("Poke = %v", err)
	}
	go func() {
		guest.say(t, control.Reply{ID: first.ID})
		guest.say(t, control.Reply{ID: guest.hear(t).ID})
	}()
	if err := c.Poke(t.Context(), "/y"); err != nil {
		t.Fatal(err)
	}
}

func TestWriteFileRefusesTooMuch(t *testing.T) {
	t.Parallel()
	c, guest := connect(t)
	guest.ready(t, c)
	if err := c.WriteFile(t.Context(), "/x", 0o600, make([]byte, control.MaxFile+1)); !errors.Is(err, control.ErrTooLarge) {
		t.Errorf("WriteFile = %v", err)
	}
	go func() { guest.say(t, control.Reply{ID: guest.hear(t).ID}) }()
	if err := c.WriteFile(t.Context(), "/x", 0o600, make([]byte, control.MaxFile)); err != nil {
		t.Errorf("the largest file: %v", err)
	}
}

func FuzzReply(f *testing.F) {
	for _, r := range []control.Reply{
		{Count: 1}, {ID: 9, Code: 1, Message: "no"}, {ID: 3, Data: []byte("x")},
		{ID: 4, Stats: &control.Stats{Processes: 1, Sessions: []control.SessionStats{{Session: "s"}}}},
	} {
		var b bytes.Buffer
		if err := control.WriteFrame(&b, r); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes())
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var r control.Reply
		if control.ReadFrame(bytes.NewReader(frame), &r) != nil {
			return
		}
		var again bytes.Buffer
		if err := control.WriteFrame(&again, r); err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(frame, again.Bytes()) {
			t.Fatalf("%x decodes, and encodes as %x", frame, again.Bytes())
		}
	})
}
