package route_test

import (
	"crypto/sha1"
	"encoding/binary"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// A world is a host's workspace in memory: contents by path. A path that ends in "/"
// is a directory, a content that begins with "->" a symbolic link.
type world struct {
	t      testing.TB
	files  map[string]string
	config route.Config
	policy *route.Policy
	dirs   map[string]route.Directory // entered ones
}

var (
	_ route.Router  = (*route.Policy)(nil)
	_ route.Changes = (*route.Policy)(nil)
)

// usual is the policy of a profile that says nothing.
var usual = route.Config{
	Masks:   []string{".vscode", ".idea", ".fleet", ".zed", ".vs"},
	Secrets: []string{".env", ".env.*", "*.pem", "*.key", "id_rsa", ".netrc", ".npmrc"},
}

func newWorld(t testing.TB, config route.Config, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, files: files, config: config}
	w.restart(config.Pins)
	return w
}

// restart begins a new generation.
func (w *world) restart(pins map[string]route.Pin) {
	w.t.Helper()
	w.config.Read, w.config.Look, w.config.Pins = w.read, w.look, pins
	policy, err := route.New(w.config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.policy, w.dirs = policy, map[string]route.Directory{"": policy.Root()}
}

func (w *world) look(path string) route.Kind {
	if content, ok := w.files[path]; ok {
		if strings.HasPrefix(content, "->") {
			return route.Symlink
		}
		return route.File
	}
	for name := range w.files {
		if strings.HasPrefix(name, path+"/") {
			return route.Dir
		}
	}
	return route.None
}

func (w *world) read(path string, limit int64) ([]byte, error) {
	content, ok := w.files[path]
	if !ok || strings.HasPrefix(content, "->") {
		return nil, fs.ErrNotExist
	}
	return []byte(content)[:min(int64(len(content)), limit)], nil
}

// enter returns the directory at path, entering every one above it anew.
func (w *world) enter(path string) route.Directory {
	dir, at := w.policy.Root(), ""
	for name := range strings.SplitSeq(path, "/") {
		if path == "" {
			break
		}
		at = strings.TrimPrefix(at+"/"+name, "/")
		host := w.look(at)
		v := w.policy.Name(dir, name, route.Names{Host: host, Own: route.Dir})
		if host == route.Dir {
			v = w.policy.Name(dir, name, route.Names{Host: host})
		}
		prefix := at
		dir = w.policy.Enter(dir, name, v, func(n string) route.Kind { return w.look(prefix + "/" + n) })
	}
	return dir
}

// at decides about a path as it is; to about making something there.
func (w *world) at(path string) route.Verdict { return w.to(path, route.None) }

func (w *world) to(path string, own route.Kind) route.Verdict {
	i := strings.LastIndexByte(path, '/')
	dir := w.enter(path[:max(i, 0)])
	return w.policy.Name(dir, path[i+1:], route.Names{Host: w.look(path), Own: own})
}

// host and guest change a file; "" removes it.
func (w *world) host(path, content string) bool { return w.change(w.policy.HostChanged, path, content) }
func (w *world) guest(path, content string) bool {
	return w.change(w.policy.GuestChanged, path, content)
}

func (w *world) change(tell func(string, func(int64) ([]byte, error)) (bool, error), path, content string) bool {
	w.t.Helper()
	w.files[path] = content
	if content == "" {
		delete(w.files, path)
	}
	before := w.policy.Generation()
	outdated, err := tell(path, func(limit int64) ([]byte, error) { return w.read(path, limit) })
	if err != nil {
		w.t.Fatal(err)
	}
	if outdated != (w.policy.Generation() > before) {
		w.t.Errorf("after %q: outdated is %v, but the generation went from %d to %d", path, outdated, before, w.policy.Generation())
	}
	return outdated
}

// want fails unless each path has the class.
func (w *world) want(class route.Class, paths ...string) {
	w.t.Helper()
	for _, path := range paths {
		if v := w.at(path); v.Class != class || v.Why == "" {
			w.t.Errorf("%q is %+v, want class %d", path, v, class)
		}
	}
}

// wantNew fails unless making each path, as the given kind, has the class.
func (w *world) wantNew(class route.Class, kind route.Kind, paths ...string) {
	w.t.Helper()
	for _, path := range paths {
		if v := w.to(path, kind); v.Class != class || v.Why == "" {
			w.t.Errorf("a new %q is %+v, want class %d", path, v, class)
		}
	}
}

// index is a git index of regular files.
func index(paths ...string) string {
	slices.Sort(paths)
	out := append([]byte("DIRC"), 0, 0, 0, 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(paths)))
	for _, path := range paths {
		entry := make([]byte, 62)
		binary.BigEndian.PutUint32(entry[24:], 0o100644)
		binary.BigEndian.PutUint16(entry[60:], uint16(len(path)))
		entry = append(entry, path...)
		out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	}
	sum := sha1.Sum(out)
	return string(append(out, sum[:]...))
}

// repository is a work tree with a bit of everything.
func repository() map[string]string {
	return map[string]string{
		".git/HEAD": "ref: refs/heads/main\n", ".git/config": "[core]\n", ".git/objects/info/packs": "x", ".git/refs/heads/main": "0f",
		".git/hooks/pre-push": "#!", ".git/info/exclude": "/scratch/\n",
		".git/index": index(".gitignore", "src/main.go", "dist/kept.js", "dist/deep/kept.js", ".vscode/settings.json", "certs/test.pem",
			".claude/settings.json", ".github/workflows/ci.yml", "Makefile", ".husky/pre-commit"),
		".gitignore":  "/dist/\n*.log\n.venv/\nsecrets/\n",
		"src/main.go": "x", "dist/kept.js": "x", "dist/made.js": "x", "dist/deep/kept.js": "x", "dist/other/made.js": "x",
		"debug.log": "x", "scratch/x": "x", "secrets/token": "x", ".venv/bin/python": "x", "venv/bin/python": "x",
		".vscode/settings.json": "x", ".vscode/tasks.json": "x", ".idea/workspace.xml": "x", "src/.vscode/tasks.json": "x",
		".env": "x", ".env.example": "x", "certs/test.pem": "x", "certs/real.pem": "x",
		".claude/settings.json": "x", ".claude/settings.local.json": "x", ".envrc": "x", ".github/workflows/ci.yml": "x", "Makefile": "x",
		".husky/pre-commit": "x", ".husky/post-merge": "x", "lazaret.toml": "x", "notes.txt": "x",
	}
}
