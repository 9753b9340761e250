package messages

import (
	"strings"

	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Table are the keys of the message list.
func Table() views.Table {
	return views.Table{Context: "messages", Rows: []views.Binding{
		{Action: "messages-down", Keys: []string{"down", "j"}, Help: "scroll down"},
		{Action: "messages-up", Keys: []string{"up", "k"}, Help: "scroll up"},
		{Action: "messages-page-down", Keys: []string{"pgdown", "space"}, Help: "one page down"},
		{Action: "messages-page-up", Keys: []string{"pgup"}, Help: "one page up"},
		{Action: "messages-leave", Keys: []string{"esc", "q"}, Help: "back"},
	}}
}

// View is the message list, newest at the bottom.
type View struct {
	table    views.Table
	messages []views.Message
	up, w, h int // up: lines scrolled up from the newest
}

// New returns the list.
func New(table views.Table) *View { return &View{table: table, w: 76, h: 20} }

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetMessages says what was reported.
func (v *View) SetMessages(m []views.Message) { v.messages = m; v.scroll(0) }

// SetSize says how large the view is.
func (v *View) SetSize(w, h int) {
	v.w, v.h = max(1, w-4), max(1, h-2)
	v.scroll(0)
}

func (v *View) scroll(by int) { v.up = max(0, min(v.up+by, len(v.lines())-v.h)) }

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, _ := v.table.Find(k.Chord)
	switch row.Action {
	case "messages-leave":
		return views.Close{}
	case "messages-down":
		v.scroll(-1)
	case "messages-up":
		v.scroll(1)
	case "messages-page-down":
		v.scroll(1 - v.h)
	case "messages-page-up":
		v.scroll(v.h - 1)
	}
	return nil
}

// Draw draws the list.
func (v *View) Draw(c views.Canvas) {
	in := c.Box("Messages", "↑↓ scroll · esc back", themes.BorderFocused)
	lines := v.lines()
	if len(lines) == 0 {
		in.Text(0, 0, "Nothing was reported.", themes.Muted)
		return
	}
	end := len(lines) - v.up
	first := max(0, end-in.Area.H)
	for y, l := range lines[first:end] {
		in.Line(0, y, l...)
	}
}

func (v *View) lines() [][]views.Span {
	var out [][]views.Span
	for _, m := range v.messages {
		stamp := m.At.Format("15:04:05 ")
		sign, k := Sign(m.Level)
		for _, part := range views.Wrap(sign+m.Text, v.w-len(stamp)) {
			out = append(out, []views.Span{{Text: stamp, Token: themes.Muted}, {Text: part, Token: k}})
			stamp = strings.Repeat(" ", len(stamp))
		}
	}
	return out
}

// Sign returns the sign and token of a level.
func Sign(l views.Level) (string, themes.Token) {
	switch l {
	case views.Error:
		return "✗ ", themes.Danger
	case views.Warning:
		return "⚠ ", themes.Warning
	}
	return "", themes.Text
}
