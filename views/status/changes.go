package status

import (
	"fmt"

	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// changes says what is new in the workspace; key lists it.
func (r *rows) changes(c views.Changes, key string) {
	const label = "Changed"
	switch c.State {
	case views.ChangesNone:
		return
	case views.ChangesLooking:
		r.add(label, "looking…", themes.Muted)
		return
	case views.ChangesFailed:
		r.add(label, "cannot be told: "+c.Why, themes.Warning)
		return
	}
	text, k := "nothing since you last looked", themes.Muted
	if n := len(c.Items); n > 0 {
		text, k = "since you last looked: "+counted(n, "file", "files"), themes.Text
		if runs := c.Running(); runs > 0 {
			text, k = text+fmt.Sprintf(" (%s on the host)", counted(runs, "runs", "run")), themes.Warning
		}
		text += " · " + key + " lists"
	}
	r.add(label, text, k)
	if c.Waiting > 0 || c.More {
		more := ""
		if c.More {
			more = " or more"
		}
		wait := "wait"
		if c.Waiting == 1 && !c.More {
			wait = "waits"
		}
		r.add("", fmt.Sprintf("%d%s %s to be accepted: lazaret state held", c.Waiting, more, wait), themes.Warning)
	}
}

func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
