package field_test

import (
	"testing"
	"time"

	"lazaret.dev/lazaret/views"
	"lazaret.dev/lazaret/views/field"
)

func press(f *field.Field, keys ...string) {
	for _, k := range keys {
		key := views.Key{Chord: k}
		if len([]rune(k)) == 1 {
			key = views.Typed(k, time.Time{})
		}
		f.Key(key)
	}
}

func TestEditing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start string
		keys  []string
		want  string
	}{
		"insert at the end":      {"ab", []string{"c"}, "abc"},
		"insert in the middle":   {"ab", []string{"left", "x"}, "axb"},
		"backspace takes a rune": {"aé", []string{"backspace"}, "a"},
		"delete":                 {"ab", []string{"home", "delete"}, "b"},
		"kill word":              {"git push origin", []string{"ctrl+w"}, "git push "},
		"kill line":              {"git push", []string{"ctrl+u"}, ""},
		"kill to end":            {"git push", []string{"home", "right", "ctrl+k"}, "g"},
		"ends are ends":          {"", []string{"left", "right", "backspace", "delete"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := field.New(c.start, 0)
			press(&f, c.keys...)
			if f.Text() != c.want {
				t.Fatalf("text = %q, want %q", f.Text(), c.want)
			}
		})
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	f := field.New("abc", 4)
	press(&f, "d", "e")
	if f.Text() != "abcd" {
		t.Fatalf("text = %q, want the limit of 4 bytes kept", f.Text())
	}
}
