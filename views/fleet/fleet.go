package fleet

import (
	"fmt"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/list"
)

// Table are the keys of the fleet list.
func Table() views.Table {
	return views.Table{Context: "fleet", Rows: []views.Binding{
		{Action: "fleet-go", Keys: []string{"enter"}, Help: "go to the session"},
		{Action: "fleet-new", Keys: []string{"n"}, Help: "new session"},
		{Action: "fleet-status", Keys: []string{"d"}, Help: "status of the Domain"},
		{Action: "fleet-inbox", Keys: []string{"i"}, Help: "inbox"},
		{Action: "fleet-close", Keys: []string{"x"}, Help: "close the session", Danger: true},
		{Action: "fleet-leave", Keys: []string{"esc", "q"}, Help: "back"},
	}}
}

// View is the fleet list.
type View struct {
	table   views.Table
	domains []views.DomainInfo
	rows    []row
	list    list.List
}

// row is a Domain's heading, one of its panes, or a session of another client.
type row struct {
	domain  int
	pane    *views.PaneInfo
	foreign *views.ForeignSession
}

// New returns an empty list.
func New(table views.Table) *View { return &View{table: table} }

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetDomains says what there is.
func (v *View) SetDomains(domains []views.DomainInfo) {
	v.domains, v.rows = domains, v.rows[:0]
	for i := range domains {
		v.rows = append(v.rows, row{domain: i})
		for j := range domains[i].Panes {
			v.rows = append(v.rows, row{domain: i, pane: &domains[i].Panes[j]})
		}
		for j := range domains[i].Elsewhere {
			v.rows = append(v.rows, row{domain: i, foreign: &domains[i].Elsewhere[j]})
		}
	}
	v.list.SetLen(len(v.rows))
}

// Select puts the cursor on a pane.
func (v *View) Select(id views.PaneID) {
	for i, r := range v.rows {
		if r.pane != nil && r.pane.ID == id {
			v.list.Select(i)
		}
	}
}

// SetSize says how large the view is.
func (v *View) SetSize(_, h int) { v.list.SetHeight(max(1, h-4)) }

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, ok := v.table.Find(k.Chord)
	if !ok {
		v.list.Key(k.Chord)
		return nil
	}
	switch row.Action {
	case "fleet-go":
		return v.goTo()
	case "fleet-new":
		return views.Open{View: views.ViewStart}
	case "fleet-status":
		return views.Open{View: views.ViewStatus}
	case "fleet-inbox":
		return views.Open{View: views.ViewInbox}
	case "fleet-close":
		if p := v.current(); p != nil {
			return views.ClosePane{Pane: p.ID}
		}
		return nil
	}
	return views.Close{}
}

func (v *View) current() *views.PaneInfo {
	if i := v.list.Cursor(); i >= 0 {
		return v.rows[i].pane
	}
	return nil
}

func (v *View) goTo() views.Action {
	i := v.list.Cursor()
	switch {
	case i < 0:
		return nil
	case v.rows[i].pane != nil:
		return views.FocusPane{Pane: v.rows[i].pane.ID}
	case v.rows[i].foreign != nil:
		return views.Notify{Text: "that session belongs to another client"}
	}
	return nil
}

// Draw draws the list.
func (v *View) Draw(c views.Canvas) {
	in := c.Box("Fleet", "enter go to · n new · d status · x close · esc back", themes.BorderFocused)
	if len(v.rows) == 0 {
		in.Text(0, 1, "No session yet. Press n for a new one.", themes.Muted)
		return
	}
	for y := range min(in.Area.H-1, len(v.rows)-v.list.Top()) {
		i := v.list.Top() + y
		v.drawRow(in.Sub(frame.Rect{Y: y + 1, W: in.Area.W, H: 1}), v.rows[i], i == v.list.Cursor())
	}
}

func (v *View) drawRow(c views.Canvas, r row, selected bool) {
	d := v.domains[r.domain]
	sign, left, right := "  ", "", ""
	k, rightToken := themes.Text, themes.Muted
	switch {
	case r.pane != nil:
		left = "  " + r.pane.Title
		right, rightToken = attention(*r.pane)
	case r.foreign != nil:
		left, right = "  "+term.Sanitize(r.foreign.Command), "held by another client"
	default:
		k = themes.Strong
		left = d.Profile + "  " + term.Sanitize(d.Workspace)
		right = domainState(d)
		if d.Known && !d.NetworkUp {
			rightToken = themes.Warning
		}
	}
	if selected {
		sign, k, rightToken = "▸ ", themes.Selected, themes.Selected
		c.Fill(k)
	}
	x := c.Area.W
	if frame.Width(right)+10 < c.Area.W {
		x = c.Right(0, right, rightToken) - 1
	}
	c.Sub(frame.Rect{W: x, H: 1}).Text(0, 0, sign+left, k)
}

func attention(p views.PaneInfo) (string, themes.Token) {
	switch {
	case p.Pending > 0:
		return fmt.Sprintf("● needs you: %d", p.Pending), themes.Warning
	case p.State == views.PaneLost || p.State == views.PaneFailed:
		return "✗ " + p.State.String(), themes.Danger
	case p.State == views.PaneExited:
		return "■ exited " + p.Detail, themes.Muted
	case p.Bell:
		return "♪ " + p.State.String(), themes.Accent
	}
	return "· " + p.State.String(), themes.Muted
}

func domainState(d views.DomainInfo) string {
	switch {
	case !d.Known:
		return string(d.ID)
	case !d.NetworkUp:
		return string(d.ID) + " · ⚠ network down"
	}
	return string(d.ID) + " · network up"
}
