package overlay

import (
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Table are the keys of a question. Enter is not among them: it is the key most
// likely to be on its way already.
func Table() views.Table {
	return views.Table{Context: "question", Rows: []views.Binding{
		{Action: "confirm-yes", Keys: []string{"y"}, Help: "yes, do it", Danger: true},
		{Action: "confirm-no", Keys: []string{"n", "esc", "q"}, Help: "no, go back"},
	}}
}

// View is one question.
type View struct {
	table views.Table
	ask   views.Confirm
}

// New returns the question.
func New(table views.Table, ask views.Confirm) *View { return &View{table: table, ask: ask} }

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetSize is here because every overlay has one; a question fits or is cut.
func (v *View) SetSize(_, _ int) {}

// Question returns what it asks, so that its owner can tell what it is about.
func (v *View) Question() views.Confirm { return v.ask }

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, _ := v.table.Find(k.Chord)
	switch row.Action {
	case "confirm-yes":
		return v.ask.Then
	case "confirm-no":
		return views.Close{}
	}
	return nil
}

// Draw draws the question.
func (v *View) Draw(c views.Canvas) {
	const width = 64
	text := views.Wrap(v.ask.Question, min(width, c.Area.W)-4)
	var detail []string
	if v.ask.Detail != "" {
		detail = views.Wrap(v.ask.Detail, min(width, c.Area.W)-4)
	}
	in := c.Centered(width, len(text)+len(detail)+4).Box("Are you sure?", "", themes.BorderFocused)
	for i, line := range text {
		in.Text(0, i, line, themes.Strong)
	}
	for i, line := range detail {
		in.Text(0, len(text)+i, line, themes.Text)
	}
	yes, _ := v.table.Named("confirm-yes")
	no, _ := v.table.Named("confirm-no")
	in.Line(0, in.Area.H-1, views.Span{Text: yes.Key(), Token: themes.Key}, views.Span{Text: " " + v.ask.Yes + "   ", Token: themes.Danger},
		views.Span{Text: no.Key(), Token: themes.Key}, views.Span{Text: " go back", Token: themes.Text})
}
