package review

import (
	"fmt"
	"strings"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

const (
	maxWidth   = 110
	labelWidth = 11
)

// line is one line of the card; arg is 1 plus the argument it begins, 0 for others.
type line struct {
	spans []views.Span
	arg   int
}

// footer is how many lines below the text stay in view: the state, the verbs.
func (v *View) footer() int { return 3 }

// Draw draws the card.
func (v *View) Draw(c views.Canvas) {
	lines := v.lines()
	title := "Request from the sandbox"
	if v.mode == editing || v.mode == typing {
		title = "Edit the request: asked on the left, what would run on the right"
	}
	box := c.Centered(maxWidth, len(lines)+2+v.footer())
	in := box.Box(title, views.Waiting(v.asked.Pending, v.now), themes.BorderFocused)
	rows := min(max(0, in.Area.H-v.footer()), v.h)
	for y := range min(rows, max(0, len(lines)-v.top)) {
		in.Line(0, y, lines[v.top+y].spans...)
	}
	v.drawFooter(in.Sub(frame.Rect{Y: max(0, in.Area.H-v.footer()), W: in.Area.W, H: v.footer()}), len(lines), rows)
}

func (v *View) drawFooter(c views.Canvas, total, rows int) {
	c.Fill(themes.Text)
	if below := total - v.top - rows; below > 0 {
		c.Text(0, 0, fmt.Sprintf("▼ %d more lines below", below), themes.Warning)
	}
	switch v.mode {
	case denying:
		n := c.Text(0, 1, "Reason (may be empty): ", themes.Strong)
		v.input.Draw(c.Sub(frame.Rect{X: n, Y: 1, W: c.Area.W - n, H: 1}), 0, true)
		verbs(c, 2, "enter", "deny", "esc", "back")
	case typing:
		n := c.Text(0, 1, fmt.Sprintf("Argument %d: ", v.row), themes.Strong)
		v.input.Draw(c.Sub(frame.Rect{X: n, Y: 1, W: c.Area.W - n, H: 1}), 0, true)
		verbs(c, 2, "enter", "take it", "esc", "back")
	default:
		v.drawState(c)
		v.drawVerbs(c)
	}
}

func (v *View) drawState(c views.Canvas) {
	if reason := v.Blocked(); reason != "" {
		c.Text(0, 1, "⊘ not approvable yet: "+reason, themes.Warning)
		return
	}
	what := "Approving runs this once on the host, as " + term.Sanitize(v.asked.Pending.HostUser) + "."
	if v.Edited() {
		what = "Approving runs the edited vector once on the host, as " + term.Sanitize(v.asked.Pending.HostUser) + "; the sandbox is told."
	}
	c.Text(0, 1, what, themes.Text)
}

func (v *View) drawVerbs(c views.Canvas) {
	words := map[string]string{
		"card-approve": "approve", "card-deny": "deny…", "card-edit": "edit", "card-abort": "abort session", "card-later": "later",
		"edit-approve": "approve as edited", "edit-change": "change", "edit-add": "add", "edit-remove": "remove", "edit-discard": "discard",
	}
	x := 0
	for _, row := range v.Table().Rows {
		word, ok := words[row.Action]
		if !ok {
			continue
		}
		key, text := themes.Key, themes.Text
		if row.Disabled != "" {
			key, text = themes.Muted, themes.Muted
			word = "(" + word + ")"
		}
		x += c.Line(x, 2, views.Span{Text: row.Key(), Token: key}, views.Span{Text: " " + word + "   ", Token: text})
	}
}

func verbs(c views.Canvas, y int, pairs ...string) {
	x := 0
	for i := 0; i+1 < len(pairs); i += 2 {
		x += c.Line(x, y, views.Span{Text: pairs[i], Token: themes.Key}, views.Span{Text: " " + pairs[i+1] + "   ", Token: themes.Text})
	}
}

// lines lays the card out for its width.
func (v *View) lines() []line {
	if v.mode == editing || v.mode == typing {
		return v.editLines()
	}
	p := v.asked.Pending
	var out []line
	for i, a := range p.Request.Argv {
		out = append(out, labelled(argLabel(i), views.Quote(a), themes.Quoted, v.w, i+1)...)
	}
	out = append(out, line{})
	if p.ProgramError != "" {
		out = append(out, labelled("Program", "✗ "+term.Sanitize(p.ProgramError), themes.Danger, v.w, 0)...)
	} else {
		out = append(out, labelled("Program", term.Sanitize(p.Program), themes.Strong, v.w, 0)...)
	}
	out = append(out, labelled("Runs in", term.Sanitize(p.HostDir), themes.Text, v.w, 0)...)
	out = append(out, labelled("Runs as", term.Sanitize(p.HostUser)+", on the host", themes.Text, v.w, 0)...)
	out = append(out, labelled("Asked by", v.asker(), themes.Text, v.w, 0)...)
	why := term.SanitizeLines(p.Request.Why)
	if why == "" {
		why = "(no reason given)"
	}
	out = append(out, labelled("Why", why, themes.Quoted, v.w, 0)...)
	for _, w := range v.warnings() {
		out = append(out, labelled("⚠ Warning", w, themes.Warning, v.w, 0)...)
	}
	return out
}

func argLabel(i int) string {
	if i == 0 {
		return "Command  0"
	}
	return fmt.Sprintf("%10d", i)
}

func (v *View) asker() string {
	p := v.asked.Pending
	session := string(p.Request.Session)
	return fmt.Sprintf("%s, %s (session %s)", term.Sanitize(p.Profile), v.asked.Title, session[:min(8, len(session))])
}

func (v *View) warnings() []string {
	var out []string
	for _, w := range v.asked.Pending.Warnings {
		out = append(out, term.Sanitize(w))
	}
	for i, a := range v.asked.Pending.Request.Argv {
		if term.Suspicious(a) {
			out = append(out, fmt.Sprintf("Argument %d holds characters that cannot be seen; they are shown escaped.", i))
		}
	}
	if term.Suspicious(strings.ReplaceAll(v.asked.Pending.Request.Why, "\n", " ")) {
		out = append(out, "The reason holds characters that cannot be seen; they are shown escaped.")
	}
	return out
}

func labelled(label, text string, k themes.Token, width, arg int) []line {
	var out []line
	pad := func(s string) string { return s + strings.Repeat(" ", max(1, labelWidth+1-frame.Width(s))) }
	for _, part := range views.Wrap(text, width-labelWidth-1) {
		out = append(out, line{arg: arg, spans: []views.Span{{Text: pad(label), Token: themes.Muted}, {Text: part, Token: k}}})
		label, arg = "", 0
	}
	return out
}

// editLines shows the asked and the edited vector side by side, argument by
// argument, with a sign where they differ.
func (v *View) editLines() []line {
	asked := v.asked.Pending.Request.Argv
	half := max(4, (v.w-9)/2)
	var out []line
	for i := range max(len(asked), len(v.argv)) {
		left, right := cellLines(asked, i, half), cellLines(v.argv, i, half)
		sign := difference(asked, v.argv, i)
		for n := range max(len(left), len(right)) {
			out = append(out, v.editLine(i, n, sign, at(left, n), at(right, n), half))
		}
	}
	return out
}

func (v *View) editLine(i, n int, sign, left, right string, half int) line {
	cursor, k, arg, number := "  ", themes.Quoted, 0, "   "
	if n == 0 {
		arg, number = i+1, fmt.Sprintf("%2d ", i)
	} else {
		sign = " "
	}
	if i == v.row && i < len(v.argv) {
		k = themes.Selected
		if n == 0 {
			cursor = "▸ "
		}
	}
	fill := func(s string) string { return s + strings.Repeat(" ", max(0, half-frame.Width(s))) }
	return line{arg: arg, spans: []views.Span{
		{Text: number + fill(left), Token: themes.Muted},
		{Text: " " + sign + " ", Token: themes.Warning},
		{Text: cursor, Token: themes.Accent},
		{Text: fill(right), Token: k},
	}}
}

func cellLines(argv []string, i, width int) []string {
	if i >= len(argv) {
		return nil
	}
	return views.Wrap(views.Quote(argv[i]), width)
}

func at(lines []string, n int) string {
	if n >= len(lines) {
		return ""
	}
	return lines[n]
}

func difference(asked, edited []string, i int) string {
	switch {
	case i >= len(asked):
		return "+"
	case i >= len(edited):
		return "−"
	case asked[i] != edited[i]:
		return "≠"
	}
	return " "
}
