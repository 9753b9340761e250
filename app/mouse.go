package app

import (
	"time"

	"lazaret.dev/lazaret/app/layout"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/input"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/views"
	paneview "lazaret.dev/lazaret/views/pane"
)

// wheelLines is how far one notch of the wheel scrolls.
const wheelLines = 3

// drag is what a held button is moving.
type drag struct {
	kind dragKind
	line layout.Line
	pane views.PaneID
	x, y int
}

type dragKind uint8

const (
	dragNothing dragKind = iota
	dragLine             // the line between two panes
	dragText             // a selection
	dragPane             // the program itself: it asked for the mouse
)

// mouse routes a report: to a drag under way, the view on top, the bottom line, a
// separator, or the pane under it.
func (m *Model) mouse(ev input.Event) {
	e := ev.Mouse
	if m.in.drag.kind != dragNothing && (e.Action == input.Motion || e.Action == input.Release) {
		m.dragTo(ev)
		return
	}
	switch {
	case e.Y >= m.out.h-1:
		if e.Action == input.Press && len(m.over) == 0 {
			m.do(views.Open{View: views.ViewInbox})
		}
	case len(m.over) > 0:
		m.overWheel(e)
	default:
		m.mouseOnPanes(ev)
	}
}

// overWheel scrolls the view on top. Clicks never decide anything there.
func (m *Model) overWheel(e input.MouseEvent) {
	chord := map[input.Button]string{input.WheelUp: "up", input.WheelDown: "down"}[e.Button]
	if chord == "" {
		return
	}
	top := m.over[len(m.over)-1]
	m.do(top.Key(views.Key{Chord: chord, At: time.Now()}))
	m.rearm(top)
	m.redraw()
}

func (m *Model) mouseOnPanes(ev input.Event) {
	e := ev.Mouse
	if line, ok := m.tiling.LineAt(e.X, e.Y); ok && !m.zoomed {
		if e.Button == input.ButtonLeft && e.Action == input.Press {
			m.in.drag = drag{kind: dragLine, line: line, x: e.X, y: e.Y}
		}
		return
	}
	id, ok := m.tiling.At(e.X, e.Y)
	p := m.panes[views.PaneID(id)]
	if !ok || p == nil {
		return
	}
	if e.Action == input.Press && e.Button < input.WheelUp {
		m.setFocus(p.id)
	}
	area, _ := m.content(p)
	if !area.Contains(e.X, e.Y) || p.term == nil {
		return
	}
	modes := p.term.modes()
	switch {
	case p.copy == nil && modes.Mouse != term.MouseOff && !e.Shift && p.state.Live():
		m.send(p, ev)
		if e.Action == input.Press && e.Button < input.WheelUp {
			m.in.drag = drag{kind: dragPane, pane: p.id}
		}
	case e.Button == input.WheelUp || e.Button == input.WheelDown:
		m.wheel(p, e, modes)
	case e.Button == input.ButtonLeft && e.Action == input.Press:
		m.in.drag = drag{kind: dragText, pane: p.id, x: e.X - area.X, y: e.Y - area.Y}
	}
}

// wheel scrolls a pane's history, or moves in a full-screen program that did not
// ask for the mouse.
func (m *Model) wheel(p *pane, e input.MouseEvent, modes term.Modes) {
	by, key := -wheelLines, "\x1b[A"
	if e.Button == input.WheelDown {
		by, key = wheelLines, "\x1b[B"
	}
	if modes.AltScreen && p.copy == nil && p.state.Live() {
		for range wheelLines {
			m.send(p, input.Event{Kind: input.Key, Raw: []byte(key)})
		}
		return
	}
	m.scroll(p, by)
}

// dragTo continues a drag, and ends it when the button is released.
func (m *Model) dragTo(ev input.Event) {
	e, d := ev.Mouse, m.in.drag
	if e.Action == input.Release {
		m.in.drag = drag{}
	}
	switch d.kind {
	case dragLine:
		m.dragLineTo(e)
	case dragPane:
		if p := m.panes[d.pane]; p != nil && p.state.Live() {
			m.send(p, ev)
		}
	case dragText:
		m.dragTextTo(d, e)
	}
}

func (m *Model) dragLineTo(e input.MouseEvent) {
	d := &m.in.drag
	if e.Action != input.Motion || e.X == d.x {
		return
	}
	m.tree = m.tree.MoveEdge(d.line.Left, layout.Right, (e.X-d.x)*1000/max(1, d.line.Span))
	d.x = e.X
	m.arrange()
	m.redraw()
}

// dragTextTo selects text; letting go copies it.
func (m *Model) dragTextTo(d drag, e input.MouseEvent) {
	p := m.panes[d.pane]
	if p == nil {
		return
	}
	area, _ := m.content(p)
	x, y := clampInto(e, area)
	if p.copy == nil {
		if e.Action != input.Motion || x == d.x && y == d.y {
			return
		}
		m.enterCopy(p)
		p.copy.Point(d.x, d.y, false)
		p.copy.Point(d.x, d.y, true)
	}
	p.copy.Point(x, y, true)
	m.redraw()
	if e.Action == input.Release && p.copy.Selecting() {
		text := p.copy.Selection()
		m.leaveCopy(p)
		m.copyOut(text)
	}
}

func clampInto(e input.MouseEvent, r frame.Rect) (x, y int) {
	return max(0, min(e.X-r.X, r.W-1)), max(0, min(e.Y-r.Y, r.H-1))
}

// content returns where on the screen a pane's program is.
func (m *Model) content(p *pane) (frame.Rect, bool) {
	area, ok := m.tiling.Area(layout.ID(p.id))
	return paneview.Content(area), ok
}
