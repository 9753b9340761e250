package help

import (
	"strings"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Table are the keys of the help itself.
func Table() views.Table {
	return views.Table{Context: "help", Rows: []views.Binding{
		{Action: "help-leave", Keys: []string{"esc", "q", "?", "enter"}, Help: "back"},
		{Action: "help-down", Keys: []string{"down", "j"}, Help: "scroll down"},
		{Action: "help-up", Keys: []string{"up", "k"}, Help: "scroll up"},
		{Action: "help-page-down", Keys: []string{"pgdown", "space"}, Help: "one page down"},
		{Action: "help-page-up", Keys: []string{"pgup"}, Help: "one page up"},
	}}
}

// View is the help of some contexts, the current one first.
type View struct {
	table    views.Table
	contexts []views.Table
	top, h   int
}

// New returns the help for the given key tables.
func New(table views.Table, contexts []views.Table) *View {
	return &View{table: table, contexts: contexts, h: 20}
}

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetSize says how large the view is.
func (v *View) SetSize(_, h int) {
	v.h = max(1, h-2)
	v.scroll(0)
}

func (v *View) scroll(by int) { v.top = max(0, min(v.top+by, len(v.lines())-v.h)) }

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, _ := v.table.Find(k.Chord)
	switch row.Action {
	case "help-leave":
		return views.Close{}
	case "help-down":
		v.scroll(1)
	case "help-up":
		v.scroll(-1)
	case "help-page-down":
		v.scroll(v.h - 1)
	case "help-page-up":
		v.scroll(1 - v.h)
	}
	return nil
}

// Draw draws the help.
func (v *View) Draw(c views.Canvas) {
	in := c.Box("Help", "↑↓ scroll · esc back", themes.BorderFocused)
	lines := v.lines()
	for y := range min(in.Area.H, max(0, len(lines)-v.top)) {
		in.Line(0, y, lines[v.top+y]...)
	}
}

const keyWidth = 24

func (v *View) lines() [][]views.Span {
	var out [][]views.Span
	for i, t := range v.contexts {
		if i > 0 {
			out = append(out, nil)
		}
		out = append(out, []views.Span{{Text: strings.ToUpper(t.Context[:1]) + t.Context[1:], Token: themes.Strong}})
		for _, row := range t.Rows {
			out = append(out, helpLine(row))
		}
	}
	return out
}

func helpLine(row views.Binding) []views.Span {
	keys := strings.Join(row.Keys, ", ")
	if keys == "" {
		keys = "unbound"
	}
	keys = "  " + keys + strings.Repeat(" ", max(1, keyWidth-frame.Width(keys)))
	line := []views.Span{{Text: keys, Token: themes.Key}, {Text: row.Help, Token: themes.Text}}
	if row.Danger {
		line = append(line, views.Span{Text: "  ⚠", Token: themes.Warning})
	}
	if row.Disabled != "" {
		line = append(line, views.Span{Text: "  not now: " + row.Disabled, Token: themes.Muted})
	}
	return line
}

// DrawWhichKey draws the rows a leader armed, in columns above the canvas's
// bottom edge.
func DrawWhichKey(c views.Canvas, leader string, t views.Table) {
	const cell = 26
	columns := max(1, (c.Area.W-4)/cell)
	rows := (len(t.Rows) + columns - 1) / columns
	h := min(rows+2, c.Area.H)
	box := c.Sub(frame.Rect{Y: c.Area.H - h, W: c.Area.W, H: h})
	in := box.Box(leader+" …", "esc cancel · "+leader+" again sends it to the program", themes.BorderFocused)
	for i, row := range t.Rows {
		// Columns are filled downwards, so that neighbours in the table stay together.
		x, y := (i/rows)*cell, i%rows
		if y >= in.Area.H || x >= in.Area.W {
			continue
		}
		key, text := themes.Key, themes.Text
		if row.Disabled != "" {
			key, text = themes.Muted, themes.Muted
		}
		slot := in.Sub(frame.Rect{X: x, Y: y, W: min(cell-1, in.Area.W-x), H: 1})
		name := row.Key()
		slot.Line(0, 0, views.Span{Text: name + strings.Repeat(" ", max(1, 7-frame.Width(name))), Token: key}, views.Span{Text: short(row.Help), Token: text})
	}
}

// short is the part of a description before its first comma or colon.
func short(s string) string {
	if i := strings.IndexAny(s, ",:("); i > 0 {
		return strings.TrimSpace(s[:i])
	}
	return s
}
