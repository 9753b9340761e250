package bundle_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/bundle"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func input() (runtime.Spec, bundle.View) {
	spec := runtime.Spec{
		IDs: runtime.IDs{Mode: runtime.ModeSubordinate,
			UIDs: runtime.IDRange{Host: 100000, Count: 65536}, GIDs: runtime.IDRange{Host: 100000, Count: 65536}},
		Hostname: "shell", WorkspaceGuest: "/workspace", User: runtime.User{Home: "/root"},
		Env:    []string{"LANG=C.UTF-8", "PATH=/opt/bin:/usr/bin"},
		Limits: runtime.Limits{Processes: 4096, OpenFiles: 8192, TmpBytes: 1 << 30},
		Volumes: []runtime.Volume{
			{Host: "/srv/cache", Guest: "/cache"},
			{Host: "/srv/tools", Guest: "/opt/tools", ReadOnly: true},
		},
	}
	view := bundle.View{
		Root: "/merged", Bin: "/control/bin", Files: "/files", Secrets: "/control/credential",
		Requests: "/mailbox/requests", Results: "/mailbox/results", Workspace: "/workspace",
		Volumes: []string{"/volumes/0", "/volumes/1"}, NetNS: "/proc/1/ns/net",
		Git: bundle.Git{Dir: true, Config: true, Hooks: true},
	}
	return spec, view
}

func TestConfigGolden(t *testing.T) {
	t.Parallel()
	spec, view := input()
	got, err := json.MarshalIndent(bundle.Config(spec, view), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "config.json")
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(string(want)) != string(got) {
		t.Errorf("the configuration changed; look at it and run with -update:\n%s", got)
	}
}

func TestSingleIDHasNoUserNamespace(t *testing.T) {
	t.Parallel()
	spec, view := input()
	user := func(c *specs.Spec) bool {
		return slices.ContainsFunc(c.Linux.Namespaces, func(n specs.LinuxNamespace) bool { return n.Type == specs.UserNamespace })
	}
	if c := bundle.Config(spec, view); !user(c) || len(c.Linux.UIDMappings) != 2 {
		t.Error("with subordinate ids there is no user namespace")
	}
	spec.IDs = runtime.IDs{Mode: runtime.ModeSingle}
	if c := bundle.Config(spec, view); user(c) || len(c.Linux.UIDMappings) != 0 {
		t.Error("with a single id there is a user namespace")
	}
}

// Nothing that does not exist in the host's tree is mounted over.
func TestOnlyWhatExistsOfGitIsMountedOver(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		git  bundle.Git
		want []string
	}{
		"no repository":     {bundle.Git{}, nil},
		"bare of all":       {bundle.Git{Dir: true}, []string{"/workspace/.git"}},
		"without hooks":     {bundle.Git{Dir: true, Config: true}, []string{"/workspace/.git", "/workspace/.git/config"}},
		"a linked worktree": {bundle.Git{File: true}, []string{"/workspace/.git"}},
		"all": {bundle.Git{Dir: true, Config: true, Hooks: true},
			[]string{"/workspace/.git", "/workspace/.git/config", "/workspace/.git/hooks"}},
	} {
		spec, view := input()
		view.Git = c.git
		var got []string
		for _, m := range bundle.Config(spec, view).Mounts {
			if strings.HasPrefix(m.Destination, "/workspace/") {
				got = append(got, m.Destination)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: mounted over %q, want %q", name, got, c.want)
		}
	}
}

func TestEnvironmentOfACommand(t *testing.T) {
	t.Parallel()
	spec, _ := input()
	p := bundle.Process(spec, []string{"true"}, []string{"LANG=de", "X=1"}, "/workspace", true)
	want := []string{"PATH=/opt/bin:/usr/bin", "HOME=/root", "LANG=de", "X=1"}
	if !slices.Equal(p.Env, want) {
		t.Errorf("got %q, want %q", p.Env, want)
	}
	if !p.NoNewPrivileges || !p.Terminal || p.Cwd != "/workspace" {
		t.Errorf("got %+v", p)
	}
}

func TestMountPointsLeaveTheHostTreeAlone(t *testing.T) {
	t.Parallel()
	spec, _ := input()
	spec.Volumes = append(spec.Volumes, runtime.Volume{Guest: "/workspace/node_modules"}, runtime.Volume{Guest: "/etc/tool.conf"})
	got := bundle.MountPoints(spec, []bool{false, false, false, true})
	for _, want := range []string{"/workspace/", "/cache/", "/opt/tools/", "/etc/tool.conf", "/etc/hosts"} {
		if !slices.Contains(got, want) {
			t.Errorf("no mount point %s", want)
		}
	}
	if slices.Contains(got, "/workspace/node_modules/") {
		t.Error("a mount point inside the workspace would be made in the host's tree")
	}
}

// TestWorkspaceSettingsAreHidden shows an empty file over lazaret.toml where there
// is one, and mounts nothing where there is none: the runtime would create it.
func TestWorkspaceSettingsAreHidden(t *testing.T) {
	t.Parallel()
	for _, present := range []bool{true, false} {
		spec, view := input()
		view.Settings = present
		hidden := slices.ContainsFunc(bundle.Config(spec, view).Mounts, func(m specs.Mount) bool {
			return m.Destination == "/workspace/lazaret.toml" && m.Source == "/files/lazaret.toml" && slices.Contains(m.Options, "ro")
		})
		if hidden != present {
			t.Errorf("with the file present=%v it is hidden=%v", present, hidden)
		}
	}
}
