package views

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Key is one key press as a view sees it.
type Key struct {
	Chord string // its name: "a", "A", "ctrl+g", "up", "enter"
	Text  string // what it types, empty when it types nothing
	At    time.Time
}

// Typed returns the key that types s.
func Typed(s string, at time.Time) Key { return Key{Chord: s, Text: s, At: at} }

// Printable returns s when it is text to insert, else "".
func Printable(s string) string {
	if s == "" || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return ""
	}
	return s
}

// Binding is one row of a key table. Dispatch, help, the which-key popup and the
// documentation are all made from these rows.
type Binding struct {
	Action   string   // its name in the configuration's [keys]
	Keys     []string // chords; the first is the one shown
	Help     string   // what it does, lower case, no full stop
	Disabled string   // why it cannot be used now; empty when it can
	Danger   bool     // asks first, or cannot be undone
}

// Matches reports whether the chord is one of the binding's keys.
func (b Binding) Matches(chord string) bool {
	for _, k := range b.Keys {
		if k == chord {
			return true
		}
	}
	return false
}

// Key returns the chord to show, or "unbound".
func (b Binding) Key() string {
	if len(b.Keys) == 0 {
		return "unbound"
	}
	return b.Keys[0]
}

// Table is the keys of one context.
type Table struct {
	Context string // what the help calls it, for example "request card"
	Rows    []Binding
}

// Find returns the row a chord is bound to.
func (t Table) Find(chord string) (Binding, bool) {
	for _, b := range t.Rows {
		if b.Matches(chord) {
			return b, true
		}
	}
	return Binding{}, false
}

// Named returns the row of an action.
func (t Table) Named(action string) (Binding, bool) {
	for _, b := range t.Rows {
		if b.Action == action {
			return b, true
		}
	}
	return Binding{}, false
}

// Rebind returns the table with the keys of the configuration applied: an action's
// key replaces its defaults, "" unbinds it. A key moved to one action is taken
// from every other.
func (t Table) Rebind(keys map[string]string) Table {
	rows := make([]Binding, len(t.Rows))
	for i, b := range t.Rows {
		rows[i] = b
		rows[i].Keys = rebound(b, keys, t)
	}
	return Table{Context: t.Context, Rows: rows}
}

func rebound(b Binding, keys map[string]string, t Table) []string {
	if key, ok := keys[b.Action]; ok {
		if key == "" {
			return nil
		}
		return []string{key}
	}
	var left []string
	for _, k := range b.Keys {
		taken := false
		for action, key := range keys {
			if _, here := t.Named(action); here && key == k {
				taken = true
			}
		}
		if !taken {
			left = append(left, k)
		}
	}
	return left
}
