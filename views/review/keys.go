package review

import (
	"slices"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/field"
)

// Key handles one key, once the developer has paused since the card opened, and
// paused again since a key that means nothing here.
func (v *View) Key(k views.Key) views.Action {
	v.now = k.At
	if !v.guard.Take(k.At) {
		return nil
	}
	switch v.mode {
	case denying:
		return v.keyDenying(k)
	case typing:
		v.keyTyping(k)
		return nil
	case editing:
		return v.keyEditing(k)
	}
	return v.keyReading(k)
}

// Paste puts pasted text into the field that is open, if one is.
func (v *View) Paste(text string) {
	if v.Typing() {
		v.input.Insert(text)
	}
}

func (v *View) keyReading(k views.Key) views.Action {
	row, ok := v.table.Find(k.Chord)
	if !ok {
		v.guard.Restart(k.At)
		return nil
	}
	switch row.Action {
	case "card-approve":
		return v.approve()
	case "card-deny":
		v.mode, v.input = denying, field.New("", escalate.MaxWhyBytes)
	case "card-edit":
		v.mode, v.row, v.top = editing, 0, 0
		v.changed()
	case "card-abort":
		return v.abort()
	case "card-later":
		return views.Close{}
	case "card-down":
		v.scroll(1)
	case "card-up":
		v.scroll(-1)
	case "card-page-down":
		v.scroll(v.h)
	case "card-page-up":
		v.scroll(-v.h)
	case "card-end":
		v.scrollThrough()
	}
	return nil
}

// scroll moves by at most one window, so that no line is skipped.
func (v *View) scroll(by int) {
	v.top += max(-v.h, min(by, v.h))
	v.settle()
}

// scrollThrough goes towards the end. A jump must not count as having read what it
// jumps over, so it goes one window at a time like every other scroll.
func (v *View) scrollThrough() { v.scroll(v.h) }

func (v *View) approve() views.Action {
	if reason := v.Blocked(); reason != "" {
		return views.Notify{Text: "not approved: " + reason}
	}
	d := views.Decide{Pending: v.asked.Pending, Verdict: escalate.VerdictApprove}
	if v.Edited() {
		d.Argv = slices.Clone(v.argv)
	}
	return d
}

func (v *View) abort() views.Action {
	return views.Confirm{
		Question: "Deny this request and end the session that asked?",
		Detail:   v.asked.Title + " is closed with everything that runs in it.",
		Yes:      "abort the session",
		Then:     views.Decide{Pending: v.asked.Pending, Verdict: escalate.VerdictAbort},
	}
}

func (v *View) keyDenying(k views.Key) views.Action {
	switch k.Chord {
	case "esc":
		v.mode = reading
	case "enter":
		return views.Decide{Pending: v.asked.Pending, Verdict: escalate.VerdictDeny, Reason: v.input.Text()}
	default:
		v.input.Key(k)
	}
	return nil
}

func (v *View) keyEditing(k views.Key) views.Action {
	row, ok := v.edit.Find(k.Chord)
	if !ok {
		v.guard.Restart(k.At)
		return nil
	}
	switch row.Action {
	case "edit-approve":
		return v.approve()
	case "edit-change":
		v.open(v.row, false)
	case "edit-add":
		v.argv = slices.Insert(v.argv, min(v.row+1, len(v.argv)), "")
		v.open(min(v.row+1, len(v.argv)-1), true)
	case "edit-remove":
		v.removeArg(v.row)
	case "edit-discard":
		v.mode, v.argv = reading, slices.Clone(v.asked.Pending.Request.Argv)
		v.changed()
	case "edit-up":
		v.choose(v.row - 1)
	case "edit-down":
		v.choose(v.row + 1)
	case "edit-page-down":
		v.scroll(v.h)
	case "edit-page-up":
		v.scroll(-v.h)
	}
	return nil
}

func (v *View) open(row int, adding bool) {
	if row < 0 || row >= len(v.argv) {
		return
	}
	v.mode, v.adding = typing, adding
	v.input = field.New(v.argv[row], escalate.MaxArgBytes)
	v.choose(row)
}

func (v *View) removeArg(row int) {
	if len(v.argv) <= 1 {
		return
	}
	v.argv = slices.Delete(v.argv, row, row+1)
	v.changed()
	v.choose(min(row, len(v.argv)-1))
}

func (v *View) keyTyping(k views.Key) {
	switch k.Chord {
	case "esc":
		v.mode = editing
		if v.adding {
			v.removeArg(v.row)
		}
	case "enter":
		v.mode = editing
		v.argv[v.row] = v.input.Text()
		v.changed()
	default:
		v.input.Key(k)
	}
}

// choose moves the cursor to an argument and scrolls it into view, by at most a
// window at a time.
func (v *View) choose(row int) {
	v.row = max(0, min(row, len(v.argv)-1))
	at := slices.IndexFunc(v.lines(), func(l line) bool { return l.arg == v.row+1 })
	switch {
	case at < 0:
	case at < v.top:
		v.scroll(at - v.top)
	case at >= v.top+v.h:
		v.scroll(at - v.top - v.h + 1)
	}
}
