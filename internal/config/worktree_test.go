package config_test

import (
	"path/filepath"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

// TestWorktreeOfASession loads the configuration of a session's own work tree: the file
// and the trust of the workspace, the paths of the work tree.
func TestWorktreeOfASession(t *testing.T) {
	t.Parallel()
	w := newWorld(t).user("[profiles.desk]\ncommand = [\"echo\", \"{workspace_dir}\"]\n").workspace("profiles.desk.network = false\n")
	tree := filepath.Join(w.home, ".local/share/lazaret/worktrees/0123456789ab/fix")
	w.mkdir(tree)
	w.write(filepath.Join(tree, "lazaret.toml"), "this is not read\n")
	c, err := w.mustLoad().ForWorktree(tree)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Profile("desk")
	if err != nil {
		t.Fatal(err)
	}
	if c.Workspace != tree || c.Home != w.ws || p.Command[1] != tree || p.NetworkEnabled {
		t.Errorf("workspace %q of %q, command %q, network %t", c.Workspace, c.Home, p.Command, p.NetworkEnabled)
	}
}

// TestOnlyTheWorktreesOfTheStorageRootMayBeWorkspaces has beside each place that is
// refused the one that is not.
func TestOnlyTheWorktreesOfTheStorageRootMayBeWorkspaces(t *testing.T) {
	t.Parallel()
	for _, below := range []string{"", "domains/0123456789ab", "worktrees", "worktrees/0123456789ab", "worktrees/0123456789ab/fix/sub", "lowers/a/b"} {
		w := newWorld(t)
		tree := filepath.Join(w.home, ".local/share/lazaret", below)
		w.mkdir(tree)
		c, err := w.mustLoad().ForWorktree(tree)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Profile("shell")
		wantRefused(t, err, fault.Config, "overlaps the Storage Root")
	}
	w := newWorld(t)
	tree := filepath.Join(w.home, ".local/share/lazaret/worktrees/0123456789ab/fix")
	w.mkdir(tree)
	c, err := w.mustLoad().ForWorktree(tree)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Profile("shell"); err != nil {
		t.Error(err)
	}
	// The very same folder as an ordinary workspace: nobody made it for a session.
	o := w.options()
	o.Workspace = tree
	if c, err = config.Load(o); err != nil {
		t.Fatal(err)
	}
	_, err = c.Profile("shell")
	wantRefused(t, err, fault.Config, "overlaps the Storage Root")
}

// TestVolumesOfAWorktreeKeepOffTheWorkspaceItIsOf: the sandbox must not get by a volume
// what its work tree keeps it from.
func TestVolumesOfAWorktreeKeepOffTheWorkspaceItIsOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tree := filepath.Join(w.home, ".local/share/lazaret/worktrees/0123456789ab/fix")
	w.mkdir(tree, filepath.Join(w.ws, "sub"))
	for _, host := range []string{w.ws, filepath.Join(w.ws, "sub"), tree} {
		w.user("[profiles.desk]\nvolumes = [{host = \"" + host + "\", container = \"/data\", mode = \"ro\"}]\n")
		c, err := w.mustLoad().ForWorktree(tree)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Profile("desk")
		wantRefused(t, err, fault.Config, "overlaps the workspace")
	}
}
