package changes

import (
	"fmt"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/list"
)

// Table are the keys of the list.
func Table() views.Table {
	return views.Table{Context: "changes in the workspace", Rows: []views.Binding{
		{Action: "changes-leave", Keys: []string{"esc", "q"}, Help: "back; a list seen to its end counts as looked at"},
	}}
}

const (
	frameLines  = 2
	headLines   = 1
	footerLines = 2 // the selected path in full
)

// View is the list of one Domain, as it was when it was opened.
type View struct {
	table   views.Table
	domain  domain.ID
	changes views.Changes
	list    list.List
	rows    int // visible, 0 on a screen too small for any
	seen    int // as many of the first items have been on the screen
}

// New returns the list of a Domain's changes.
func New(table views.Table, id domain.ID, changes views.Changes) *View {
	v := &View{table: table, domain: id, changes: changes}
	v.list.SetLen(len(changes.Items))
	return v
}

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetSize says how large the view is.
func (v *View) SetSize(_, h int) {
	v.rows = max(0, h-frameLines-headLines-footerLines)
	v.list.SetHeight(v.rows)
	v.note()
}

// note takes down what is on the screen. A jump over rows does not show them.
func (v *View) note() {
	if v.list.Top() <= v.seen {
		v.seen = max(v.seen, min(v.list.Top()+v.rows, len(v.changes.Items)))
	}
}

// Complete reports whether every row has been on the screen.
func (v *View) Complete() bool { return v.seen == len(v.changes.Items) }

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	if _, ok := v.table.Find(k.Chord); !ok {
		v.list.Key(k.Chord)
		v.note()
		return nil
	}
	if v.Complete() {
		return views.Looked{Domain: v.domain, Serial: v.changes.Serial}
	}
	return views.Close{}
}

// Draw draws the list.
func (v *View) Draw(c views.Canvas) {
	hint := "↑↓ pgdn scroll · esc back, counts as looked at"
	if below := len(v.changes.Items) - v.seen; below > 0 {
		hint = fmt.Sprintf("↑↓ pgdn scroll · ▼ %d not seen yet · esc back", below)
	}
	in := c.Box("Changed since you last looked", hint, themes.BorderFocused)
	in.Text(0, 0, v.summary(), themes.Muted)
	for y := range min(v.rows, len(v.changes.Items)-v.list.Top()) {
		i := v.list.Top() + y
		drawItem(in.Sub(frame.Rect{Y: y + headLines, W: in.Area.W, H: 1}), v.changes.Items[i], i == v.list.Cursor())
	}
	if i := v.list.Cursor(); i >= 0 && v.rows > 0 {
		at := in.Area.H - footerLines
		for y, line := range views.Wrap(name(v.changes.Items[i]), max(1, in.Area.W)) {
			if y < footerLines {
				in.Text(0, at+y, line, themes.Quoted)
			}
		}
	}
}

func (v *View) summary() string {
	text := fmt.Sprintf("%d changed by the sandbox, %d of them may run on the host", len(v.changes.Items), v.changes.Running())
	if v.changes.Forgotten > 0 {
		text += fmt.Sprintf("; %d older changes are forgotten", v.changes.Forgotten)
	}
	return text
}

func drawItem(c views.Canvas, i views.Change, selected bool) {
	sign, text, mark := "  ", themes.Text, themes.Muted
	if i.Mark != views.ChangePlain {
		mark = themes.Warning
	}
	stamp := themes.Muted
	if selected {
		sign, text, mark, stamp = "▸ ", themes.Selected, themes.Selected, themes.Selected
		c.Fill(text)
	}
	c.Line(0, 0,
		views.Span{Text: sign + i.At.Format("Jan 02 15:04") + "  ", Token: stamp},
		views.Span{Text: fmt.Sprintf("%-7s  ", i.What), Token: text},
		views.Span{Text: fmt.Sprintf("%-6s  ", i.Mark), Token: mark},
		views.Span{Text: name(i), Token: text})
}

func name(i views.Change) string {
	text := term.Sanitize(i.Path)
	if i.Directory {
		text += "/"
	}
	if i.From != "" {
		text += " (from " + term.Sanitize(i.From) + ")"
	}
	return text
}
