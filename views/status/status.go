package status

import (
	"fmt"
	"strings"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Table are the keys of the status view.
func Table() views.Table {
	return views.Table{Context: "domain status", Rows: []views.Binding{
		{Action: "status-next", Keys: []string{"tab", "right"}, Help: "next Domain"},
		{Action: "status-previous", Keys: []string{"shift+tab", "left"}, Help: "previous Domain"},
		{Action: "status-changes", Keys: []string{"c"}, Help: "list what changed in the workspace"},
		{Action: "status-down", Keys: []string{"down", "j"}, Help: "scroll down"},
		{Action: "status-up", Keys: []string{"up", "k"}, Help: "scroll up"},
		{Action: "status-page-down", Keys: []string{"pgdown", "space"}, Help: "one page down"},
		{Action: "status-page-up", Keys: []string{"pgup"}, Help: "one page up"},
		{Action: "status-leave", Keys: []string{"esc", "q"}, Help: "back"},
	}}
}

// View is the status of one of the Domains.
type View struct {
	table   views.Table
	domains []views.DomainInfo
	at      int
	top     int
	w, h    int
}

// New returns the view.
func New(table views.Table) *View { return &View{table: table, w: 76, h: 20} }

// Table returns the keys.
func (v *View) Table() views.Table { return v.table }

// SetDomains says what there is.
func (v *View) SetDomains(domains []views.DomainInfo) {
	v.domains = domains
	v.at = max(0, min(v.at, len(domains)-1))
	v.clamp()
}

// Select shows the Domain of a pane.
func (v *View) Select(id views.PaneID) {
	for i, d := range v.domains {
		for _, p := range d.Panes {
			if p.ID == id {
				v.at = i
			}
		}
	}
}

// SetSize says how large the view is.
func (v *View) SetSize(w, h int) {
	v.w, v.h = max(1, w-4), max(1, h-2)
	v.clamp()
}

// Key handles one key.
func (v *View) Key(k views.Key) views.Action {
	row, ok := v.table.Find(k.Chord)
	if !ok {
		return nil
	}
	switch row.Action {
	case "status-leave":
		return views.Close{}
	case "status-next":
		v.turn(1)
	case "status-previous":
		v.turn(-1)
	case "status-changes":
		return v.changes()
	case "status-down":
		v.top++
	case "status-up":
		v.top--
	case "status-page-down":
		v.top += v.h - 1
	case "status-page-up":
		v.top -= v.h - 1
	}
	v.clamp()
	return nil
}

func (v *View) changes() views.Action {
	if len(v.domains) == 0 {
		return nil
	}
	d := v.domains[v.at]
	if len(d.Changes.Items) == 0 {
		return views.Notify{Text: "no change in the workspace to list"}
	}
	return views.ShowChanges{Domain: d.ID}
}

func (v *View) turn(by int) {
	if n := len(v.domains); n > 0 {
		v.at, v.top = (v.at+by+n)%n, 0
	}
}

func (v *View) clamp() { v.top = max(0, min(v.top, len(v.lines())-v.h)) }

// Draw draws the view.
func (v *View) Draw(c views.Canvas) {
	title := "Domain status"
	if len(v.domains) > 1 {
		title += fmt.Sprintf(" %d/%d", v.at+1, len(v.domains))
	}
	in := c.Box(title, "↑↓ scroll · c changes · tab next Domain · esc back", themes.BorderFocused)
	lines := v.lines()
	for y := range min(in.Area.H, len(lines)-v.top) {
		in.Line(0, y, lines[v.top+y]...)
	}
}

const labelWidth = 14

// lines lays the whole status out for the current width.
func (v *View) lines() [][]views.Span {
	if len(v.domains) == 0 {
		return [][]views.Span{{{Text: "No Domain is running.", Token: themes.Muted}}}
	}
	d := v.domains[v.at]
	out := rows{w: v.w}
	out.add("Domain", string(d.ID)+"  "+d.Profile, themes.Strong)
	out.add("Workspace", d.Workspace, themes.Text)
	row, _ := v.table.Named("status-changes")
	out.changes(d.Changes, row.Key())
	if !d.Known {
		out.add("State", "the coordinator has not reported yet", themes.Muted)
		return out.lines
	}
	out.add("Generation", d.Generation, themes.Muted)
	out.add("Mode", d.Mode, themes.Text)
	out.add("Running since", d.Started.Format("2006-01-02 15:04:05"), themes.Text)
	out.network(d)
	out.sessions(d)
	out.each("Policy", d.Policy)
	out.each("Limits", d.Limits)
	out.each("Persistent", d.Anchors)
	out.add("Prepared lower", d.Lower, themes.Muted)
	out.add("Log", d.Log, themes.Text)
	out.add("Coordinator", fmt.Sprintf("process %d on the host", d.Coordinator), themes.Muted)
	return out.lines
}

// rows collects labelled lines, wrapped.
type rows struct {
	w     int
	lines [][]views.Span
}

func (r *rows) add(label, text string, k themes.Token) {
	label += strings.Repeat(" ", max(1, labelWidth+1-frame.Width(label)))
	for _, line := range views.Wrap(term.Sanitize(text), r.w-labelWidth-1) {
		r.lines = append(r.lines, []views.Span{{Text: label, Token: themes.Muted}, {Text: line, Token: k}})
		label = strings.Repeat(" ", labelWidth+1)
	}
}

func (r *rows) each(label string, items []string) {
	if len(items) == 0 {
		r.add(label, "none", themes.Muted)
	}
	for _, item := range items {
		r.add(label, item, themes.Text)
		label = ""
	}
}

func (r *rows) network(d views.DomainInfo) {
	if d.NetworkUp {
		r.add("Network", "✓ up", themes.Success)
		return
	}
	why := d.NetworkWhy
	if why == "" {
		why = "no reason given"
	}
	r.add("Network", "✗ down: "+why, themes.Danger)
}

func (r *rows) sessions(d views.DomainInfo) {
	label := "Runs"
	for _, p := range d.Panes {
		k, text := themes.Text, p.Title+" — "+p.State.String()
		if p.Pending > 0 {
			k, text = themes.Warning, text+fmt.Sprintf(", ● %d waiting for you", p.Pending)
		}
		r.add(label, text, k)
		label = ""
	}
	for _, f := range d.Elsewhere {
		r.add(label, f.Command+" — held by another client", themes.Muted)
		label = ""
	}
}
