package root_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

func TestLooked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := root.Looked(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("never looked: %v", err)
	}
	p := journal.New().Here(time.UnixMilli(1_700_000_000_000))
	p.Seq = 7
	if err := root.WriteLooked(dir, p); err != nil {
		t.Fatal(err)
	}
	if got, err := root.Looked(dir); err != nil || got != p {
		t.Errorf("%+v, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "looked"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := root.Looked(dir); !errors.Is(err, root.ErrDamaged) {
		t.Errorf("damaged: %v", err)
	}
}
