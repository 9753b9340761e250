package inbox

import (
	"time"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/list"
)

// Table are the keys of the inbox.
func Table() views.Table {
	return views.Table{Context: "inbox", Rows: []views.Binding{
		{Action: "inbox-review", Keys: []string{"enter"}, Help: "open the request's card"},
		{Action: "inbox-pane", Keys: []string{"p"}, Help: "go to the pane that asked"},
		{Action: "inbox-leave", Keys: []string{"esc", "q"}, Help: "back"},
	}}
}

// View is the inbox.
type View struct {
	table views.Table
	asked []views.Asked
	list  list.List
	now   time.Time
}

// New returns an empty inbox.
func New(table views.Table) *View { return &View{table: table} }

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetSize says how large the view is.
func (v *View) SetSize(_, h int) { v.list.SetHeight(max(1, (h-3)/2)) }

// SetAsked says what waits; the cursor stays on the request it was on.
func (v *View) SetAsked(asked []views.Asked, now time.Time) {
	var held *views.Asked
	if i := v.list.Cursor(); i >= 0 {
		held = &v.asked[i]
	}
	v.asked, v.now = asked, now
	v.list.SetLen(len(asked))
	if held == nil {
		return
	}
	for i := range asked {
		if asked[i].Pending.Request.ID == held.Pending.Request.ID {
			v.list.Select(i)
		}
	}
}

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, ok := v.table.Find(k.Chord)
	if !ok {
		v.list.Key(k.Chord)
		return nil
	}
	i := v.list.Cursor()
	switch {
	case row.Action == "inbox-leave":
		return views.Close{}
	case i < 0:
		return nil
	case row.Action == "inbox-pane":
		return views.FocusPane{Pane: v.asked[i].Pane}
	}
	return views.Review{Request: v.asked[i].Pending.Request.ID}
}

// Draw draws the inbox.
func (v *View) Draw(c views.Canvas) {
	in := c.Box("Inbox", "enter review · p go to pane · esc back", themes.BorderFocused)
	if len(v.asked) == 0 {
		in.Text(0, 1, "Nothing waits for you.", themes.Muted)
		return
	}
	for n := range (in.Area.H) / 2 {
		i := v.list.Top() + n
		if i >= len(v.asked) {
			return
		}
		v.drawItem(in.Sub(frame.Rect{Y: 1 + 2*n, W: in.Area.W, H: 2}), v.asked[i], i == v.list.Cursor())
	}
}

func (v *View) drawItem(c views.Canvas, a views.Asked, selected bool) {
	sign, k, second := "  ", themes.Strong, themes.Muted
	if selected {
		sign, k, second = "▸ ", themes.Selected, themes.Selected
		c.Fill(k)
	}
	p := a.Pending
	x := c.Right(0, " "+views.Waiting(p, v.now), second)
	c.Sub(frame.Rect{W: max(0, x), H: 1}).Text(0, 0, sign+views.QuoteArgv(p.Request.Argv), k)
	why := term.Sanitize(p.Request.Why)
	if why == "" {
		why = "no reason given"
	}
	c.Text(0, 1, "  "+term.Sanitize(p.Profile)+" · "+a.Title+" · "+why, second)
}
