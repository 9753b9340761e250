package apptest

import (
	"bytes"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
)

// Workspace is the workspace of a driven dashboard.
const Workspace = "/home/dev/project"

// Driver runs a dashboard in a synctest bubble.
type Driver struct {
	t        *testing.T
	Model    *app.Model
	Sessions *Sessions
	Changes  *Changes
	Screen   *Screen
	msgs     chan tea.Msg
	stop     chan struct{}
	quit     chan struct{}
	once     sync.Once
}

// Start starts a dashboard of w by h cells. change may alter its options.
func Start(t *testing.T, w, h int, change ...func(*app.Options)) *Driver {
	t.Helper()
	theme, err := themes.Lookup("dark", false)
	if err != nil {
		t.Fatal(err)
	}
	d := &Driver{
		t: t, Sessions: &Sessions{}, Changes: &Changes{}, Screen: &Screen{},
		msgs: make(chan tea.Msg), stop: make(chan struct{}), quit: make(chan struct{}),
	}
	opt := app.Options{
		Sessions: d.Sessions, Changes: d.Changes, Workspace: Workspace, First: "shell", Theme: theme, W: w, H: h,
		Screen: d.Screen, Send: d.Send,
		NewEmulator: func(cols, rows int) term.Emulator {
			return term.New(cols, rows, term.Options{Scrollback: 500})
		},
	}
	for _, f := range change {
		f(&opt)
	}
	d.Model = app.New(opt)
	go d.loop()
	t.Cleanup(func() {
		d.Send(app.HangupMsg{})
		synctest.Wait()
		d.once.Do(func() { close(d.stop) })
		time.Sleep(time.Minute) // timers cannot be cancelled; let them run out
		synctest.Wait()
	})
	synctest.Wait()
	return d
}

func (d *Driver) loop() {
	d.run(d.Model.Init())
	for {
		select {
		case <-d.stop:
			return
		case msg := <-d.msgs:
			_, cmd := d.Model.Update(msg)
			d.run(cmd)
			_ = d.Model.View()
		}
	}
}

// run runs a command as bubbletea does: in a goroutine, batches in one each.
func (d *Driver) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		switch msg := cmd().(type) {
		case nil:
		case tea.BatchMsg:
			for _, c := range msg {
				d.run(c)
			}
		case tea.QuitMsg:
			close(d.quit)
		default:
			d.Send(msg)
		}
	}()
}

// Send delivers a message.
func (d *Driver) Send(msg tea.Msg) {
	select {
	case <-d.stop:
	case d.msgs <- msg:
	}
}

// Type types bytes and waits until everything has settled.
func (d *Driver) Type(s string) {
	d.Send(app.InputMsg(s))
	synctest.Wait()
}

// Keys types one string after another, each in a read of its own.
func (d *Driver) Keys(keys ...string) {
	for _, k := range keys {
		d.Type(k)
	}
}

// Leader types the leader and a key.
func (d *Driver) Leader(key string) { d.Keys("\x07", key) }

// Wait lets time pass.
func (d *Driver) Wait(dur time.Duration) {
	time.Sleep(dur)
	synctest.Wait()
}

// Settle lets all goroutines finish what they can, and a frame pass.
func (d *Driver) Settle() { d.Wait(20 * time.Millisecond) }

// Session returns the nth session that was opened.
func (d *Driver) Session(n int) *Session {
	d.t.Helper()
	s := d.Sessions.Session(n)
	if s == nil {
		d.t.Fatalf("session %d was not opened", n)
	}
	return s
}

// Quit reports whether the dashboard has left.
func (d *Driver) Quit() bool {
	select {
	case <-d.quit:
		return true
	default:
		return false
	}
}

// Shown returns the last picture as text.
func (d *Driver) Shown() string {
	d.t.Helper()
	g := d.Screen.Last()
	if g == nil {
		d.t.Fatal("nothing was drawn")
	}
	return g.String()
}

// Screen keeps what was drawn.
type Screen struct {
	mu        sync.Mutex
	last      *frame.Grid
	draws     int
	control   bytes.Buffer
	synced    bool
	suspends  int
	onSuspend func()
}

// Draw keeps the picture.
func (s *Screen) Draw(g *frame.Grid) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = g
	s.draws++
}

// Spare returns nothing: the last picture is kept for the test.
func (s *Screen) Spare() *frame.Grid { return nil }

// Control keeps the bytes.
func (s *Screen) Control(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.control.Write(b)
}

// Synchronized keeps the answer.
func (s *Screen) Synchronized(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.synced = yes
}

// Suspend counts.
func (s *Screen) Suspend() {
	s.mu.Lock()
	s.suspends++
	f := s.onSuspend
	s.mu.Unlock()
	if f != nil {
		f()
	}
}

// Reenter does nothing.
func (s *Screen) Reenter() {}

// OnSuspend sets what Suspend waits for.
func (s *Screen) OnSuspend(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onSuspend = f
}

// Last returns the last picture.
func (s *Screen) Last() *frame.Grid {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// Draws returns how many pictures were drawn.
func (s *Screen) Draws() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.draws
}

// ControlBytes returns what was written past the pictures.
func (s *Screen) ControlBytes() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.control.String()
}

// Suspends returns how often the dashboard was suspended.
func (s *Screen) Suspends() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.suspends
}
