package term_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/term"
)

func TestSanitizeKeepsText(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "plain text, punctuation: {}[]\\~", "Zażółć gęślą jaźń", "日本語 한국어 ภาษาไทย", "עברית العربية",
		"e\u0301 decomposed", "🚀 ✍🏽 ⚠\ufe0f 👩\u200d🚀 🏳\ufe0f\u200d🌈 👨\u200d👩\u200d👧\u200d👦 🇩🇪 #\ufe0f\u20e3", "┌─┐│└┘ █▓▒░ ⠋⠙",
		"\ue0b0 icon font", "\U0001F9D1\U0001F3FD\u200d\U0001F4BB", "replacement \ufffd",
	} {
		if got := term.Sanitize(s); got != s {
			t.Errorf("Sanitize(%q) = %q", s, got)
		}
		if term.Suspicious(s) {
			t.Errorf("Suspicious(%q)", s)
		}
	}
}

func TestSanitizeShowsWhatHides(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, in, want string }{
		{"escape", "a\x1b[31mb", `a\x1b[31mb`},
		{"bell and null", "\a\x00", `\x07\x00`},
		{"delete", "a\x7f", `a\x7f`},
		{"line feed, return, tab", "a\nb\rc\td", `a\nb\rc\td`},
		{"C1", "a\u009b2J", `a\x9b2J`},
		{"C1 bytes", "a\x9b2J", `a\x9b2J`},
		{"invalid UTF-8", "a\xff\xc3(", `a\xff\xc3(`},
		{"surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
		{"bidi override", "a\u202eb", `a\u{202e}b`},
		{"bidi embedding and isolates", "\u202a\u202b\u202c\u202d\u2066\u2067\u2068\u2069", `\u{202a}\u{202b}\u{202c}\u{202d}\u{2066}\u{2067}\u{2068}\u{2069}`},
		{"bidi marks", "\u200e\u200f\u061c", `\u{200e}\u{200f}\u{61c}`},
		{"zero width", "a\u200bb\u200cc\u2060d\ufeff", `a\u{200b}b\u{200c}c\u{2060}d\u{feff}`},
		{"joiner between letters", "a\u200db", `a\u{200d}b`},
		{"joiner at the end of an emoji", "🚀\u200d", `🚀\u{200d}`},
		{"joiner after an escape", "\u200b\u200d🚀", `\u{200b}\u{200d}🚀`},
		{"line and paragraph separators", "a\u2028b\u2029c", `a\u{2028}b\u{2029}c`},
		{"soft hyphen", "pass\u00adword", `pass\u{ad}word`},
		{"selector on a letter", "a\ufe0f", `a\u{fe0f}`},
		{"selector on a digit without keycap", "1\ufe0f", `1\u{fe0f}`},
		{"variation selectors supplement", "a\U000e0100", `a\u{e0100}`},
		{"tags", "\U000e0041\U000e0042", `\u{e0041}\u{e0042}`},
		{"Hangul fillers", "\u115f\u1160\u3164\uffa0", `\u{115f}\u{1160}\u{3164}\u{ffa0}`},
		{"Mongolian separator", "\u180e", `\u{180e}`},
		{"invisible operators", "\u2061\u2064", `\u{2061}\u{2064}`},
		{"annotation", "\ufff9", `\u{fff9}`},
		{"musical controls", "\U0001d173", `\u{1d173}`},
		{"noncharacter", "\uffff\ufdd0", `\u{ffff}\u{fdd0}`},
		{"private use beyond icons", "\U00100000", `\u{100000}`},
		{"mark without a base", "\u0301a", `\u{301}a`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := term.Sanitize(tt.in); got != tt.want {
				t.Errorf("Sanitize(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if !term.Suspicious(tt.in) {
				t.Errorf("%q is not suspicious", tt.in)
			}
		})
	}
}

func TestSanitizeLines(t *testing.T) {
	t.Parallel()
	if got, want := term.SanitizeLines("a\r\nb\n\tc\rd\x1b"), "a\nb\n    c\\rd\\x1b"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSanitizeLine(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		width int
		want  string
	}{
		{"short", 5, "short"},
		{"longer", 5, "long…"},
		{"日本語", 5, "日本…"},
		{"日本語", 4, "日…"},
		{"a\x1bb", 4, `a\x…`},
		{"x", 0, ""},
	}
	for _, tt := range tests {
		if got := term.SanitizeLine(tt.in, tt.width); got != tt.want {
			t.Errorf("SanitizeLine(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"a\x1b[31m", "👩\u200d🚀", "\u202e\U000e0041\xff", "1\ufe0f\u20e3", "🚀\u200d\u200d🚀"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := term.Sanitize(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is not UTF-8", got)
		}
		for _, r := range got {
			switch {
			case r < 0x20, r >= 0x7f && r < 0xa0, r >= 0x2028 && r <= 0x202e, r >= 0x2066 && r <= 0x2069,
				r == 0x200b, r == 0x200c, r == 0xfeff, r >= 0xe0000 && r <= 0xe0fff:
				t.Fatalf("%q still has %U", got, r)
			case r != 0x200d && r != 0xfe0e && r != 0xfe0f && unicode.In(r, unicode.Cf, unicode.Variation_Selector):
				t.Fatalf("%q still has %U", got, r)
			}
		}
		if again := term.Sanitize(got); again != got {
			t.Fatalf("not stable: %q, then %q", got, again)
		}
		if term.Suspicious(s) != (got != s) {
			t.Fatal("Suspicious disagrees")
		}
	})
}
