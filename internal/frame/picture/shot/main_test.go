package main

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run([]string{"10x3", "/nonexistent/font.ttf"}, strings.NewReader("one\n\x1b[31mtwo\n日本\n"), &out); err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(&out); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"80"}, {"0x4"}, {"9999x9999"}} {
		if err := run(args, strings.NewReader(""), &out); err == nil {
			t.Errorf("%q is accepted", args)
		}
	}
}

func TestScreen(t *testing.T) {
	t.Parallel()
	if got, want := screen([]byte("one\ntwo\nthree\n"), 10, 3).String(), "one\ntwo\nthree\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
