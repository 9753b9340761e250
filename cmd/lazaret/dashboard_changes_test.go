package main

import (
	"context"
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/views"
)

// TestDashboardChanges: what the dashboard is told is what `lazaret state` would print,
// and a mark set in one counts in the other.
func TestDashboardChanges(t *testing.T) {
	w := newStateWorld(t, "shell")
	w.save("journal", sampleJournal().Snapshot)
	w.held(".env", "KEY=1\n")
	w.held(".envrc", "export X=1\n")
	w.write(w.ws, ".git/HEAD", "ref: refs/heads/main\n")
	w.held(".git/rebase-merge/done", "x") // held, and never accepted
	c := &config.Config{Profiles: map[string]config.Profile{"shell": {}}}
	c.Storage.DataRoot = filepath.Dir(filepath.Dir(w.domain))
	id, _ := domain.Identify("shell", w.ws)
	source := dashboardChanges{c}
	found, seen, err := source.Look(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Items) != 5 || found.Running() != 2 || found.Waiting != 2 || found.More {
		t.Errorf("found %+v", found)
	}
	first := found.Items[0]
	if first.Path != ".github/workflows/ci.yml" || first.Mark != views.ChangeRuns || first.What != "created" || first.At.IsZero() {
		t.Errorf("the first is %+v", first)
	}
	if err := seen(); err != nil {
		t.Fatal(err)
	}
	if found, _, err = source.Look(context.Background(), id); err != nil || len(found.Items) != 0 {
		t.Errorf("after looking: %+v, %v", found, err)
	}
	if out, err := runState(t, "", "changes", "--since", "looked"); err != nil || out != "The sandbox changed nothing.\n" {
		t.Errorf("lazaret state: %q, %v", out, err)
	}
}
