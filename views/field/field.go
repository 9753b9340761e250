package field

import (
	"strings"
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// Field is one line of text with a position in it. The zero value is empty.
type Field struct {
	text string
	at   int // byte offset of the position
	Max  int // most bytes it takes; 0 means no limit
}

// New returns a field holding text, the position at its end.
func New(text string, limit int) Field { return Field{text: text, at: len(text), Max: limit} }

// Text returns what it holds.
func (f *Field) Text() string { return f.text }

// Key edits, and reports whether the key was an editing key.
func (f *Field) Key(k views.Key) bool {
	if k.Text != "" {
		f.Insert(k.Text)
		return true
	}
	switch k.Chord {
	case "left", "ctrl+b":
		f.at -= f.before()
	case "right", "ctrl+f":
		f.at += f.after()
	case "home", "ctrl+a":
		f.at = 0
	case "end", "ctrl+e":
		f.at = len(f.text)
	case "backspace", "ctrl+h":
		f.remove(f.at-f.before(), f.at)
	case "delete", "ctrl+d":
		f.remove(f.at, f.at+f.after())
	case "ctrl+u":
		f.remove(0, f.at)
	case "ctrl+k":
		f.remove(f.at, len(f.text))
	case "ctrl+w", "alt+backspace":
		f.remove(f.wordStart(), f.at)
	default:
		return false
	}
	return true
}

// Insert puts text at the position. What would go over Max is not inserted.
func (f *Field) Insert(s string) {
	if f.Max > 0 && len(f.text)+len(s) > f.Max {
		return
	}
	f.text = f.text[:f.at] + s + f.text[f.at:]
	f.at += len(s)
}

func (f *Field) remove(from, to int) {
	f.text = f.text[:from] + f.text[to:]
	f.at = from
}

func (f *Field) before() int {
	_, n := utf8.DecodeLastRuneInString(f.text[:f.at])
	return n
}

func (f *Field) after() int {
	_, n := utf8.DecodeRuneInString(f.text[f.at:])
	return n
}

func (f *Field) wordStart() int {
	head := strings.TrimRight(f.text[:f.at], " ")
	return strings.LastIndexByte(head, ' ') + 1
}

// Draw draws the field in one line over the canvas's width, the position in view,
// and puts the terminal's cursor there when it has the keyboard.
func (f *Field) Draw(c views.Canvas, y int, focused bool) {
	c.Sub(frame.Rect{X: 0, Y: y, W: c.Area.W, H: 1}).Fill(themes.Field)
	before, after := term.Sanitize(f.text[:f.at]), term.Sanitize(f.text[f.at:])
	room := max(1, c.Area.W-1)
	for frame.Width(before) > room {
		_, n := utf8.DecodeRuneInString(before)
		before = before[n:]
	}
	x := c.Text(0, y, before, themes.Field)
	c.Text(x, y, after, themes.Field)
	if focused {
		c.Cursor(x, y)
	}
}
