package root_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

func newPlan(t *testing.T) plan.Plan {
	t.Helper()
	id, digest := domain.Identify("shell", "/w")
	return plan.Plan{Domain: id, Digest: digest[:], Profile: "shell", Workspace: "/w", DataRoot: t.TempDir()}
}

func open(t *testing.T, p plan.Plan) string {
	t.Helper()
	dir, err := root.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestOpenRemembersWhoseItIs(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	dir := open(t, p)
	open(t, p)
	id, profile, workspace, err := root.Identity(dir)
	if err != nil || id != p.Domain || profile != "shell" || workspace != "/w" {
		t.Errorf("identity = %s %s %s, %v", id, profile, workspace, err)
	}
	if roots, err := root.List(p.DataRoot); err != nil || len(roots) != 1 || roots[0] != dir {
		t.Errorf("list = %v, %v", roots, err)
	}
	other := p
	_, digest := domain.Identify("shell", "/elsewhere")
	other.Digest = digest[:]
	if _, err := root.Open(other); fault.KindOf(err) != fault.Workspace {
		t.Errorf("a colliding Domain: err = %v", err)
	}
}

// TestOpenInsistsOnPrivacy: each defect has the sound root as its twin.
func TestOpenInsistsOnPrivacy(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(dir string) error{
		"writable by others": func(dir string) error { return os.Chmod(dir, 0o777) },
		"a link": func(dir string) error {
			if err := os.Rename(dir, dir+".real"); err != nil {
				return err
			}
			return os.Symlink(dir+".real", dir)
		},
		"damaged identity": func(dir string) error { return os.WriteFile(filepath.Join(dir, "identity"), []byte("x"), 0o600) },
	} {
		p := newPlan(t)
		dir := open(t, p)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := root.Open(p); fault.KindOf(err) != fault.Workspace || fault.FixOf(err) == "" {
			t.Errorf("%s: err = %v", name, err)
		}
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := root.LockPath(open(t, newPlan(t)))
	held, err := root.Lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok, err := root.TryLock(path); ok || err != nil {
		t.Errorf("a held lock was taken: %v", err)
	}
	soon, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := root.Lock(soon, path); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v", err)
	}
	taken := make(chan error, 1)
	go func() {
		next, err := root.Lock(t.Context(), path)
		if err == nil {
			next.Close()
		}
		taken <- err
	}()
	held.Close()
	if err := <-taken; err != nil { // also past the wait that was given up
		t.Error(err)
	}
}

func TestSweepOnlyWhatNobodyServes(t *testing.T) {
	t.Parallel()
	p := newPlan(t)
	dir := open(t, p)
	sockets := filepath.Join(t.TempDir(), "run")
	generation := filepath.Join(dir, "gen", "g")
	socket := filepath.Join(sockets, "g.sock")
	for _, d := range []string{sockets, generation} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(socket, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := root.WriteEndpoint(dir, root.Endpoint{Generation: "g", Socket: socket}); err != nil {
		t.Fatal(err)
	}
	lock, _, err := root.TryLock(root.LockPath(dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := root.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("swept under a live coordinator: %v", err)
	}
	lock.Close()
	if err := root.Sweep(dir); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{socket, sockets, generation, filepath.Join(dir, "endpoint")} {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
}
