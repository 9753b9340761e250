package app

import (
	"context"
	"time"

	tea "charm.land/bubbletea/v2"

	"lazaret.dev/lazaret/app/layout"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/input"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Options are what the dashboard is started with.
type Options struct {
	Sessions  Sessions
	Changes   Changes // nil: nothing is told
	Workspace string
	First     string // profile of the first session; empty: none is opened
	Theme     themes.Theme
	Leader    string            // chord, "ctrl+g" when empty
	Keys      map[string]string // action → key, from the configuration
	// NewEmulator makes the screen of one pane.
	NewEmulator func(cols, rows int) term.Emulator
	// Screen shows pictures. Send delivers a message to Update from any goroutine.
	Screen Screen
	Send   func(tea.Msg)
	// Rescue is deferred in every goroutine the dashboard starts: it puts the
	// terminal back before a panic goes on.
	Rescue func()
	W, H   int
}

// Screen is the developer's terminal as Update sees it. No method blocks but
// Suspend and Reenter.
type Screen interface {
	// Draw shows g as soon as the terminal takes it; a picture not yet shown is
	// replaced. The grid is the screen's to keep.
	Draw(g *frame.Grid)
	// Spare returns a grid given to Draw that is no longer needed, or nil.
	Spare() *frame.Grid
	// Control writes bytes that are no picture: a bell, the clipboard.
	Control(b []byte)
	// Synchronized says whether the terminal knows synchronized output.
	Synchronized(yes bool)
	// Suspend gives the terminal back, stops the process as Ctrl-Z does, and
	// takes the terminal again when it continues.
	Suspend()
	// Reenter sets the terminal's modes again after an unforeseen stop.
	Reenter()
}

// Model is the dashboard. Everything in it belongs to the goroutine of Update.
type Model struct {
	opt    Options
	keys   keymap
	kinds  []views.ProfileInfo // the profiles, as they were at the start
	ctx    context.Context
	cancel context.CancelFunc

	panes   map[views.PaneID]*pane
	nextID  views.PaneID
	tree    *layout.Node
	tiling  layout.Tiling
	focus   views.PaneID
	before  views.PaneID // had the keyboard before, where it goes back to
	zoomed  bool
	over    []overlay // the last one has the keyboard
	asked   []request
	domains map[domain.ID]wire.Status
	looks   map[domain.ID]*look

	in   inputState
	out  outputState
	msgs messageArea
	end  ending
}

// inputState is what has been typed so far.
type inputState struct {
	parser  *input.Parser
	late    int // counts reads, so that only the newest deadline flushes
	leader  bool
	armedAt time.Time
	lastKey time.Time
	drag    drag
	clip    string // our own clipboard
	offered string // what a program would like to be on the clipboard
	focused bool   // the outer terminal has the focus
}

// outputState is when to draw.
type outputState struct {
	w, h      int
	dirty     bool
	urgent    bool
	waiting   bool // a frameMsg is on its way
	ageing    bool // a clockMsg for ages is on its way
	suspended bool
	resumed   time.Time
	last      time.Time
	cmds      []tea.Cmd // of the current Update
}

// ending is the way out.
type ending struct {
	asked bool
	done  bool
}

// New returns a dashboard without any pane.
func New(opt Options) *Model {
	if opt.Leader == "" {
		opt.Leader = "ctrl+g"
	}
	if opt.Rescue == nil {
		opt.Rescue = func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m := &Model{
		opt: opt, keys: newKeymap(opt.Keys), ctx: ctx, cancel: cancel,
		kinds: opt.Sessions.Profiles(),
		panes: map[views.PaneID]*pane{}, domains: map[domain.ID]wire.Status{},
		looks: map[domain.ID]*look{},
	}
	m.in.parser = input.NewParser(0)
	m.in.focused = true
	m.out.w, m.out.h = opt.W, opt.H
	return m
}

// Init opens the first session.
func (m *Model) Init() tea.Cmd {
	if m.opt.First != "" {
		m.openPane(m.opt.First, nil, 0)
	}
	m.redraw()
	return m.finish()
}

// View is for the loop's own renderer, which is off; see Frame.
func (m *Model) View() tea.View { return tea.View{} }

// overlay is a view over the panes. It takes every key until it closes.
type overlay interface {
	Key(k views.Key) views.Action
	Draw(c views.Canvas)
	Table() views.Table
	SetSize(w, h int)
}

// command runs f in a goroutine of its own and sends what it returns to Update.
func (m *Model) command(f func() tea.Msg) {
	rescue := m.opt.Rescue
	m.out.cmds = append(m.out.cmds, func() tea.Msg {
		defer rescue()
		return f()
	})
}

// after sends msg once d has passed.
func (m *Model) after(d time.Duration, msg tea.Msg) {
	m.out.cmds = append(m.out.cmds, tea.Tick(d, func(time.Time) tea.Msg { return msg }))
}

// wake looks at the clock again once d has passed.
func (m *Model) wake(d time.Duration) { m.after(d, clockMsg{}) }

// start runs f in a goroutine that Update does not wait for.
func (m *Model) start(f func()) {
	rescue := m.opt.Rescue
	go func() {
		defer rescue()
		f()
	}()
}

func (m *Model) finish() tea.Cmd {
	cmds := m.out.cmds
	m.out.cmds = nil
	return tea.Batch(cmds...)
}
