package start

import (
	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/field"
	"lazaret.dev/lazaret/views/list"
)

// Table are the keys of the picker. Letters type into the command, so only chords
// and named keys are bound.
func Table() views.Table {
	return views.Table{Context: "new session", Rows: []views.Binding{
		{Action: "start-open", Keys: []string{"enter"}, Help: "open the session"},
		{Action: "start-up", Keys: []string{"up", "ctrl+p"}, Help: "previous profile"},
		{Action: "start-down", Keys: []string{"down", "ctrl+n", "tab"}, Help: "next profile"},
		{Action: "start-leave", Keys: []string{"esc"}, Help: "back"},
	}}
}

const maxCommand = 4 << 10

// View is the picker.
type View struct {
	table    views.Table
	profiles []views.ProfileInfo
	list     list.List
	command  field.Field
}

// New returns a picker with the default profile chosen.
func New(table views.Table, profiles []views.ProfileInfo) *View {
	v := &View{table: table, profiles: profiles, command: field.New("", maxCommand)}
	v.list.SetLen(len(profiles))
	for i, p := range profiles {
		if p.Default {
			v.list.Select(i)
		}
	}
	return v
}

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetSize says how large the view is.
func (v *View) SetSize(_, h int) { v.list.SetHeight(max(1, h-7)) }

// Paste puts pasted text into the command.
func (v *View) Paste(text string) { v.command.Insert(text) }

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, ok := v.table.Find(k.Chord)
	if !ok {
		v.command.Key(k)
		return nil
	}
	switch row.Action {
	case "start-up":
		v.list.Move(-1)
	case "start-down":
		v.list.Move(1)
	case "start-leave":
		return views.Close{}
	case "start-open":
		if i := v.list.Cursor(); i >= 0 {
			return views.StartSession{Profile: v.profiles[i].Name, Command: v.command.Text()}
		}
	}
	return nil
}

// Draw draws the picker.
func (v *View) Draw(c views.Canvas) {
	in := c.Centered(72, len(v.profiles)+7).Box("New session", "enter open · ↑↓ profile · esc back", themes.BorderFocused)
	if len(v.profiles) == 0 {
		in.Text(0, 0, "No profile is configured; run: lazaret init", themes.Warning)
		return
	}
	rows := max(1, in.Area.H-4)
	for y := range min(rows, len(v.profiles)-v.list.Top()) {
		i := v.list.Top() + y
		v.drawProfile(in.Sub(frame.Rect{Y: y, W: in.Area.W, H: 1}), v.profiles[i], i == v.list.Cursor())
	}
	chosen := v.profiles[max(0, v.list.Cursor())]
	in.Text(0, in.Area.H-3, "Command (empty: "+term.Sanitize(chosen.Command)+")", themes.Muted)
	v.command.Draw(in, in.Area.H-2, true)
}

func (v *View) drawProfile(c views.Canvas, p views.ProfileInfo, selected bool) {
	sign, k, second := "  ", themes.Text, themes.Muted
	if selected {
		sign, k, second = "▸ ", themes.Selected, themes.Selected
		c.Fill(k)
	}
	detail := term.Sanitize(p.Command)
	if p.Default {
		detail += " · default"
	}
	if p.Notice != "" {
		detail += " · " + term.Sanitize(p.Notice)
	}
	c.Text(0, 0, sign+term.Sanitize(p.Name), k)
	c.Sub(frame.Rect{X: 20, W: c.Area.W - 20, H: 1}).Text(0, 0, detail, second)
}
