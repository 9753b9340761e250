package review

import (
	"slices"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/field"
)

// Table are the keys of the card while it is read.
func Table() views.Table {
	return views.Table{Context: "request card", Rows: []views.Binding{
		{Action: "card-approve", Keys: []string{"a"}, Help: "approve: run it on the host, once", Danger: true},
		{Action: "card-deny", Keys: []string{"d"}, Help: "deny, with a reason"},
		{Action: "card-edit", Keys: []string{"e"}, Help: "edit the arguments"},
		{Action: "card-abort", Keys: []string{"q"}, Help: "abort: deny and end the session that asked", Danger: true},
		{Action: "card-later", Keys: []string{"esc"}, Help: "decide later"},
		{Action: "card-down", Keys: []string{"down", "j"}, Help: "scroll down"},
		{Action: "card-up", Keys: []string{"up", "k"}, Help: "scroll up"},
		{Action: "card-page-down", Keys: []string{"pgdown", "space"}, Help: "one page down"},
		{Action: "card-page-up", Keys: []string{"pgup"}, Help: "one page up"},
		{Action: "card-end", Keys: []string{"end", "G"}, Help: "to the end"},
	}}
}

// EditTable are the keys of the card while its arguments are edited.
func EditTable() views.Table {
	return views.Table{Context: "request card, editing", Rows: []views.Binding{
		{Action: "edit-approve", Keys: []string{"a"}, Help: "approve what is on the right side", Danger: true},
		{Action: "edit-change", Keys: []string{"enter"}, Help: "change the argument"},
		{Action: "edit-add", Keys: []string{"o", "+"}, Help: "add an argument after this one"},
		{Action: "edit-remove", Keys: []string{"x", "delete"}, Help: "remove the argument"},
		{Action: "edit-discard", Keys: []string{"esc"}, Help: "back, without the changes"},
		{Action: "edit-up", Keys: []string{"up", "k"}, Help: "previous argument"},
		{Action: "edit-down", Keys: []string{"down", "j"}, Help: "next argument"},
		{Action: "edit-page-down", Keys: []string{"pgdown"}, Help: "one page down"},
		{Action: "edit-page-up", Keys: []string{"pgup"}, Help: "one page up"},
	}}
}

type mode uint8

const (
	reading mode = iota
	denying      // writing the reason
	editing      // choosing an argument
	typing       // changing one
)

// View is the card of one request.
type View struct {
	table, edit views.Table
	asked       views.Asked
	guard       views.Guard
	now         time.Time

	mode   mode
	argv   []string // as edited
	row    int      // the argument the cursor is on
	input  field.Field
	adding bool // the argument being typed is new

	top, w, h int
	reached   bool // every line has been on the screen since they last changed
}

// New opens the card of a request. now starts the pause it waits for.
func New(table, edit views.Table, asked views.Asked, now time.Time) *View {
	return &View{
		table: table, edit: edit, asked: asked, guard: views.NewGuard(now), now: now,
		argv: slices.Clone(asked.Pending.Request.Argv), w: 76, h: 16,
	}
}

// Request returns what the card shows.
func (v *View) Request() escalate.Pending { return v.asked.Pending }

// Due returns when the card starts to take keys if nothing is typed before.
func (v *View) Due() time.Time { return v.guard.Due() }

// SetNow moves the card's clock.
func (v *View) SetNow(now time.Time) { v.now = now }

// Typing reports whether keys are text now, so that no chord may be taken away.
func (v *View) Typing() bool { return v.mode == denying || v.mode == typing }

// Table returns the keys that apply now, with the reason why one does not.
func (v *View) Table() views.Table {
	if v.mode == editing || v.mode == typing {
		return disable(v.edit, "edit-approve", v.Blocked())
	}
	return disable(v.table, "card-approve", v.Blocked())
}

func disable(t views.Table, action, reason string) views.Table {
	rows := slices.Clone(t.Rows)
	for i := range rows {
		if rows[i].Action == action {
			rows[i].Disabled = reason
		}
	}
	return views.Table{Context: t.Context, Rows: rows}
}

// SetSize says how large the card may be.
func (v *View) SetSize(w, h int) {
	w, h = min(w, maxWidth)-4, h-2-v.footer()
	if w != v.w || h != v.h {
		v.w, v.h = max(1, w), max(1, h)
		v.reached = false
	}
	v.settle()
}

// Blocked returns why the request cannot be approved now, "" when it can.
func (v *View) Blocked() string {
	p := v.asked.Pending
	switch {
	case len(v.argv) == 0 || v.argv[0] == "":
		return "it names no program"
	case p.ProgramError != "" && v.argv[0] == first(p.Request.Argv):
		return "the program cannot be run: see above"
	case p.ExpiresUnix != 0 && v.now.Unix() >= p.ExpiresUnix:
		return "it has expired"
	case !v.guard.Armed(v.now):
		return "pause typing for a moment first"
	case !v.reached:
		return "scroll to the end first"
	}
	return ""
}

func first(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	return argv[0]
}

// Edited reports whether the vector differs from the one that was asked.
func (v *View) Edited() bool { return !slices.Equal(v.argv, v.asked.Pending.Request.Argv) }

// settle keeps the scroll position in range and notes when the end is in view. It
// runs after every change, so that drawing changes nothing.
func (v *View) settle() {
	lines := v.lines()
	v.top = max(0, min(v.top, len(lines)-v.h))
	if v.top+v.h >= len(lines) {
		v.reached = true
	}
}

// changed forgets that the card has been read, because it now says something else.
func (v *View) changed() {
	v.reached = false
	v.settle()
}
