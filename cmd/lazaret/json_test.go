package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestT04JSONShowsNothingHidden(t *testing.T) {
	t.Parallel()
	in := map[string]string{"path": "\x1b[2Ja\nb\x7f\u0085\u202egpj\u200b\u2028\U000e0041\ufe0f é日😀<&>\"\\"}
	var out strings.Builder
	if err := indented(&out, in); err != nil {
		t.Fatal(err)
	}
	for _, r := range out.String() {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("it shows %q: %s", r, out.String())
		}
	}
	if !strings.Contains(out.String(), `é日😀<&>`) {
		t.Errorf("what can be seen is escaped: %s", out.String())
	}
	var back map[string]string
	if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back["path"] != in["path"] {
		t.Errorf("it reads as %q, %v", back["path"], err)
	}
}
