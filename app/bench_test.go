package app_test

import (
	"strings"
	"testing"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/apptest"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
)

// BenchmarkCompose is the cost of one picture of a full 200x60 pane.
func BenchmarkCompose(b *testing.B) {
	theme, err := themes.Lookup("dark", false)
	if err != nil {
		b.Fatal(err)
	}
	var emu term.Emulator
	m := app.New(app.Options{
		Sessions: &apptest.Sessions{}, Workspace: "/w", First: "shell", Theme: theme, W: 200, H: 60, Screen: &apptest.Screen{},
		NewEmulator: func(cols, rows int) term.Emulator {
			emu = term.New(cols, rows, term.Options{})
			return emu
		},
	})
	_ = m.Init()
	m.Update(app.OpenedForTest(m))
	emu.Write([]byte(strings.Repeat("\x1b[31mcolour\x1b[0m and some text ", 500)))
	b.Run("emulator", func(b *testing.B) {
		for b.Loop() {
			emu.Frame(0)
		}
	})
	b.Run("picture", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.Frame()
		}
	})
}
