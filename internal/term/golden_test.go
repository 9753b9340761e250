package term_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/term"
)

var update = flag.Bool("update", false, "write the golden frames anew")

// sizes are the panes the recordings were made in.
var sizes = map[string][2]int{"bash": {60, 16}, "vim": {70, 18}, "less": {60, 14}, "htop": {100, 20}, "claude": {90, 26}, "codex": {90, 26}}

// TestRecordings replays what real programs wrote and compares the last screen. The
// frames were compared with what another terminal multiplexer shows when recorded.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.in")
	if err != nil || len(files) < len(sizes) {
		t.Fatalf("%d recordings, want %d: %v", len(files), len(sizes), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".in")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			each(t, func(t *testing.T, en term.Engine) {
				e := term.New(sizes[name][0], sizes[name][1], term.Options{Engine: en})
				e.Write(in)
				golden(t, strings.TrimSuffix(file, ".in")+".golden", e.Frame(0).String())
				checkCaps(t, e)
			})
		})
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
