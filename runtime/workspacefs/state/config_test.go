package state

import (
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

func TestSafeConfig(t *testing.T) {
	t.Parallel()
	got, err := safeConfig([]byte(`[core]
	repositoryformatversion = 1
	filemode = false
	worktree = /x
[extensions]
	objectFormat = sha256
[remote "origin"]
	url = git@example.org:a/b.git
	pushurl = ext::sh
	fetch = +refs/heads/*:refs/remotes/origin/*
[remote "evil"]
	url = ext::sh -c id
[branch "main"]
	remote = origin
	merge = refs/heads/main
[branch "x"]
	remote = evil
`))
	if err != nil {
		t.Fatal(err)
	}
	want := `[core]
	repositoryformatversion = 1
	filemode = false
	bare = false
[extensions]
	objectFormat = sha256
[remote "origin"]
	url = "git@example.org:a/b.git"
	fetch = "+refs/heads/*:refs/remotes/origin/*"
[branch "main"]
	remote = "origin"
	merge = "refs/heads/main"
`
	if got.text != want || got.hash != 32 {
		t.Errorf("got\n%s", got.text)
	}
	if d := strings.Join(got.dropped, " "); d != "branch.x.remote core.worktree remote.evil.url remote.origin.pushurl" {
		t.Errorf("dropped %s", d)
	}
}

func TestSafeURL(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]bool{
		"https://example.org/x.git": true, "http://u:p@h:80/x": true, "ssh://git@h:22/x": true, "git@h:x/y.git": true, "ssh://h/x": true,
		"/srv/x": false, "../x": false, "file:///x": false, "ext::sh -c x": false, "ssh://-oProxyCommand=x/y": false, "-u@h:x": false,
		"git@-h:x": false, "git@h:-x": false, "ssh://%2dx/y": false, "https://h/x\ny": false, "h:x": false, "git@h::x": false, "https:///x": false, "fd::3": false,
	} {
		if safeURL(url) != want {
			t.Errorf("%q: %t", url, !want)
		}
	}
}

func TestGitFate(t *testing.T) {
	t.Parallel()
	hash := strings.Repeat("a", 38)
	for at, want := range map[string]fate{
		"HEAD": ref, "config": config, "index": index, "packed-refs": table, "refs/": descend, "refs/heads/": descend, "refs/heads/a/b": ref,
		"refs/stash": ref, "refs/heads/a.lock": leave, "refs/heads/-x": leave, "refs/heads/..": leave, "refs/x": ref,
		"objects/": descend, "objects/aa/": descend, "objects/aa/" + hash: copied, "objects/aa/x": leave, "objects/zz/": leave,
		"objects/info/": descend, "objects/info/alternates": never, "objects/info/commit-graph": leave,
		"objects/pack/pack-" + hash + "aa.pack": copied, "objects/pack/pack-" + hash + "aa.sh": leave,
		"logs/": descend, "logs/HEAD": copied, "logs/refs/heads/x": copied, "logs/x": leave, "logs/evil/": leave,
		"hooks/": leave, "info/": leave, "modules/": leave, "config.worktree": leave, "commondir": leave, "HEAD/": leave, "HEAD/x": leave, "objects": leave,
	} {
		if got, _ := gitFate(strings.TrimSuffix(at, "/"), strings.HasSuffix(at, "/")); got != want {
			t.Errorf("%s: %d, want %d", at, got, want)
		}
	}
}

func TestStaysInItem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		parent, target string
		want           bool
	}{{"", "x", true}, {"", "..", false}, {"a", "../x", true}, {"a", "../../x", false}, {"a/b", "../../x/y", true}} {
		if got := staysInItem(c.parent, c.target); got != c.want {
			t.Errorf("%q from %q: %t", c.target, c.parent, got)
		}
	}
}

// What is written back says what was kept and nothing else, whatever came in.
func FuzzSafeConfig(f *testing.F) {
	f.Add([]byte("[core]\n\tfsmonitor = x\n[remote \"a\"]\n\turl = https://h/x\n[branch \"b\"]\n\tremote = a\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := safeConfig(data)
		if err != nil {
			return
		}
		file, err := gitconfig.Parse([]byte(got.text))
		if err != nil {
			t.Fatalf("%q: %v", got.text, err)
		}
		for v := range file.All() {
			switch v.Section + "." + v.Key {
			case "core.repositoryformatversion", "core.filemode", "core.bare", "extensions.objectformat", "branch.remote", "branch.merge", "remote.fetch":
			case "remote.url":
				if !safeURL(v.Value) {
					t.Errorf("address %q", v.Value)
				}
			default:
				t.Errorf("setting %v", v)
			}
		}
		again, err := safeConfig([]byte(got.text))
		if err != nil || again.text != got.text || len(again.dropped) != 0 {
			t.Errorf("not stable: %q, %q, %v", got.text, again.text, err)
		}
	})
}
