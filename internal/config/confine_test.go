package config_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

func (w *world) volume(host string) (config.Profile, error) {
	w.t.Helper()
	w.user(fmt.Sprintf("[profiles.desk]\nvolumes = [{host = %q, container = \"/data\", mode = \"ro\"}]\n", host))
	c, err := w.load()
	if err != nil {
		w.t.Fatalf("Load: %v", err)
	}
	return c.Profile("desk")
}

func TestVolumesThatAreRefused(t *testing.T) {
	t.Parallel()
	link := func(w *world, to string) string {
		path := filepath.Join(filepath.Dir(w.ws), "link")
		if err := os.Symlink(to, path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct {
		host func(*world) string
		why  string
	}{
		"root":                 {func(*world) string { return "/" }, "whole host"},
		"root by a link":       {func(w *world) string { return link(w, "/") }, `(which is "/") is the whole host`},
		"home":                 {func(*world) string { return "~" }, "home directory"},
		"above home":           {func(w *world) string { return filepath.Dir(w.home) }, "home directory"},
		"home by a link":       {func(w *world) string { return link(w, w.home) }, "home directory"},
		"workspace":            {func(*world) string { return "{workspace_dir}" }, "overlaps the workspace"},
		"inside the workspace": {func(w *world) string { w.mkdir(w.ws + "/.git"); return "{workspace_dir}/.git" }, "overlaps the workspace"},
		"link into workspace":  {func(w *world) string { return link(w, w.ws) }, "overlaps the workspace"},
		"configuration":        {func(*world) string { return "~/.config/lazaret" }, "your configuration file"},
		"above configuration":  {func(*world) string { return "~/.config" }, "your configuration file"},
		"configuration itself": {func(w *world) string { return w.userFile() }, "your configuration file"},
		"trust":                {func(w *world) string { w.mkdir(w.home + "/.local/state"); return "~/.local/state" }, "records of trust"},
		"storage root":         {func(w *world) string { w.mkdir(w.home + "/.local/share/lazaret"); return "~/.local/share/lazaret" }, "Storage Root"},
		"above storage root":   {func(w *world) string { w.mkdir(w.home + "/.local/share/x"); return "~/.local/share" }, "Storage Root"},
		"profile_dir itself":   {func(w *world) string { w.mkdir(w.home + "/.local/share/lazaret/desk"); return "{profile_dir}" }, "{profile_dir}"},
		"the login":            {func(w *world) string { return w.write(w.home+"/.local/share/lazaret/desk/credential", "x") }, "Storage Root"},
		"another profile's dir": {func(w *world) string {
			w.mkdir(w.home + "/.local/share/lazaret/other/x")
			return "~/.local/share/lazaret/other/x"
		}, "Storage Root"},
		"proc":                  {func(*world) string { return "/proc" }, "kernel"},
		"dev":                   {func(*world) string { return "/dev/shm" }, "devices"},
		"runtime directories":   {func(*world) string { return "/run" }, "runtime directories"},
		"missing":               {func(*world) string { return "/nowhere/at/all" }, "cannot be used: no such file"},
		"socket":                {func(w *world) string { return listen(w) }, "not a directory or a regular file"},
		"folder with a socket":  {func(w *world) string { return filepath.Dir(listen(w)) }, "holds the socket"},
		"pipe":                  {func(w *world) string { return pipe(w) }, "not a directory or a regular file"},
		"agent socket's folder": {func(w *world) string { return agentFolder(w) }, "SSH_AUTH_SOCK"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, err := w.volume(tc.host(w))
			wantRefused(t, err, fault.Config, tc.why, w.userFile()+":2")
		})
	}
}

func listen(w *world) string {
	w.mkdir(w.home + "/s")
	path := filepath.Join(w.home, "s/x")
	l, err := net.Listen("unix", path)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { l.Close() })
	return path
}

func pipe(w *world) string {
	path := filepath.Join(w.home, "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

func agentFolder(w *world) string {
	w.mkdir(w.home + "/agents/deep")
	w.environ = append(w.environ, "SSH_AUTH_SOCK="+w.home+"/agents/deep/sock")
	return w.home + "/agents"
}

func TestVolumesThatAreAllowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, _ := domain.Identify("desk", w.ws)
	real := filepath.Join(w.home, "cache/real")
	w.mkdir(real, w.home+"/.local/share/lazaret/desk/npm", w.home+"/.local/share/lazaret/domains/"+string(id)+"/volumes/x")
	if err := os.Symlink(real, filepath.Join(w.home, "link")); err != nil {
		t.Fatal(err)
	}
	for host, want := range map[string]string{
		"~/cache":                real[:len(real)-len("/real")],
		"~/link":                 real, // canonical, not the link
		"{profile_dir}/npm":      w.home + "/.local/share/lazaret/desk/npm",
		"{domain_dir}/volumes/x": w.home + "/.local/share/lazaret/domains/" + string(id) + "/volumes/x",
		"/usr/share":             "/usr/share",
	} {
		p, err := w.volume(host)
		if err != nil {
			t.Errorf("%s: %v", host, err)
			continue
		}
		if p.Volumes[0] != (config.Volume{Host: want, Guest: "/data", ReadOnly: true}) {
			t.Errorf("%s = %+v, want host %s", host, p.Volumes[0], want)
		}
	}
}

// Whoever can replace a link decides where it leads.
func TestLinkToTheStorageRootStaysOutside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.home+"/real", w.home+"/links", w.home+"/harmless")
	if err := os.Symlink(w.home+"/real", w.home+"/links/data"); err != nil {
		t.Fatal(err)
	}
	w.environ = append(w.environ, "XDG_DATA_HOME="+w.home+"/links/data")
	_, err := w.volume("~/links")
	wantRefused(t, err, fault.Config, "a link to the Storage Root")
	if _, err := w.volume("~/harmless"); err != nil {
		t.Error(err)
	}
}

// A broken volume of one profile does not stop another.
func TestVolumesAreJudgedPerProfile(t *testing.T) {
	t.Parallel()
	w := newWorld(t).user("[profiles.desk]\nvolumes = [{host = \"/nowhere\", container = \"/data\"}]\n")
	c := w.mustLoad()
	if _, err := c.Profile("shell"); err != nil {
		t.Error(err)
	}
	if errs := c.Check(); len(errs) != 1 {
		t.Errorf("Check = %v", errs)
	}
}

func TestWorkspacesThatAreRefused(t *testing.T) {
	t.Parallel()
	launch := func(w *world) error {
		c, err := w.load()
		if err != nil {
			w.t.Fatalf("Load: %v", err)
		}
		_, err = c.Profile("shell")
		return err
	}
	w := newWorld(t)
	w.ws = w.home
	wantRefused(t, launch(w), fault.Config, "workspace", "your configuration file", "folder below it")

	w = newWorld(t)
	w.ws = w.home + "/.local/share/lazaret/domains"
	w.mkdir(w.ws)
	wantRefused(t, launch(w), fault.Config, "overlaps the Storage Root")

	w = newWorld(t)
	w.flag = w.write(w.ws+"/my.toml", "")
	wantRefused(t, launch(w), fault.Config, "named by --config")

	// The same by a link: what counts is where the file really is.
	w = newWorld(t)
	w.write(w.ws+"/my.toml", "")
	w.flag = w.home + "/link.toml"
	if err := os.Symlink(w.ws+"/my.toml", w.flag); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, launch(w), fault.Config, "named by --config")

	// The workspace's own file is the exception: it is hidden from the sandbox.
	w = newWorld(t).workspace("")
	w.flag = w.write(w.home+"/my.toml", "")
	if err := launch(w); err != nil {
		t.Error(err)
	}
}

func TestProfileOfAHandMadeConfig(t *testing.T) {
	t.Parallel()
	c := &config.Config{Profiles: map[string]config.Profile{"shell": {Name: "shell"}}}
	if p, err := c.Profile("shell"); err != nil || p.Name != "shell" {
		t.Errorf("Profile = %+v, %v", p, err)
	}
}
