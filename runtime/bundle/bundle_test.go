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

// The protection of the workspace is its file system's: nothing is mounted over parts
// of it but what the configuration names.
func TestNothingIsMountedOverTheWorkspace(t *testing.T) {
	t.Parallel()
	spec, view := input()
	for _, m := range bundle.Config(spec, view).Mounts {
		if strings.HasPrefix(m.Destination, "/workspace/") {
			t.Errorf("something is mounted at %s", m.Destination)
		}
	}
}

func TestGitDirectoriesOutsideKeepTheirPaths(t *testing.T) {
	t.Parallel()
	spec, view := input()
	spec.Policy.GitDirs, view.GitDirs = []string{"/home/dev/main/.git"}, []string{"/gitdirs/0"}
	shown := func(m specs.Mount) bool {
		return m.Destination == "/home/dev/main/.git" && m.Source == "/gitdirs/0" && slices.Contains(m.Options, "rw")
	}
	if !slices.ContainsFunc(bundle.Config(spec, view).Mounts, shown) {
		t.Error("the git directory is not mounted")
	}
	if !slices.Contains(bundle.MountPoints(spec, nil), "/home/dev/main/.git/") {
		t.Error("the git directory has no mount point in the guest layer")
	}
}

func TestEnvironmentOfACommand(t *testing.T) {
	t.Parallel()
	spec, _ := input()
	p := bundle.Process(spec, []string{"true"}, []string{"LANG=de", "X=1"}, "/workspace", true)
	want := []string{"PATH=/opt/bin:/usr/bin", "HOME=/root", "LANG=de", "X=1",
		"GIT_CONFIG_KEY_0=core.checkStat", "GIT_CONFIG_VALUE_0=minimal",
		"GIT_CONFIG_KEY_1=core.trustctime", "GIT_CONFIG_VALUE_1=false",
		"GIT_CONFIG_KEY_2=core.untrackedCache", "GIT_CONFIG_VALUE_2=false",
		"GIT_CONFIG_KEY_3=core.splitIndex", "GIT_CONFIG_VALUE_3=false",
		"GIT_CONFIG_KEY_4=gc.worktreePruneExpire", "GIT_CONFIG_VALUE_4=never",
		"GIT_CONFIG_KEY_5=core.excludesFile", "GIT_CONFIG_VALUE_5=/etc/lazaret/git-excludes",
		"GIT_CONFIG_KEY_6=core.createObject", "GIT_CONFIG_VALUE_6=rename",
		"GIT_CONFIG_KEY_7=index.recordOffsetTable", "GIT_CONFIG_VALUE_7=false",
		"GIT_CONFIG_KEY_8=gc.reflogExpire", "GIT_CONFIG_VALUE_8=never",
		"GIT_CONFIG_KEY_9=gc.reflogExpireUnreachable", "GIT_CONFIG_VALUE_9=never", "GIT_CONFIG_COUNT=10"}
	if !slices.Equal(p.Env, want) {
		t.Errorf("got %q, want %q", p.Env, want)
	}
	if !p.NoNewPrivileges || !p.Terminal || p.Cwd != "/workspace" {
		t.Errorf("got %+v", p)
	}
}

// What the profile tells Git by the environment stays, and ours follows it.
func TestGitSettingsOfTheProfileStay(t *testing.T) {
	t.Parallel()
	spec, _ := input()
	theirs := []string{"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=x"}
	env := bundle.Process(spec, []string{"true"}, theirs, "/", false).Env
	for _, want := range []string{"GIT_CONFIG_COUNT=11", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_KEY_1=core.checkStat", "GIT_CONFIG_KEY_2=core.trustctime"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	for _, broken := range []string{"GIT_CONFIG_COUNT=x", "GIT_CONFIG_COUNT=-1"} {
		if env := bundle.Process(spec, []string{"true"}, []string{broken}, "/", false).Env; !slices.Contains(env, broken) || slices.Contains(env, "GIT_CONFIG_KEY_0=core.checkStat") {
			t.Errorf("%s became %q", broken, env)
		}
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
