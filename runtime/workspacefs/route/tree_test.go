package route_test

import (
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func TestOrdinaryFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.Shared, "src", "src/main.go", "notes.txt", ".gitignore", "certs")
	w.wantNew(route.Shared, route.File, "src/new.go", "README", "src/head.c", "src/objects", "refs", "git")
	w.wantNew(route.Shared, route.Dir, "lib", "lib/objects")
}

func TestW03OwnConfiguration(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.Absent, "lazaret.toml")
	w.wantNew(route.Absent, route.Symlink, "lazaret.toml", "Lazaret.toml")
	w.wantNew(route.Shared, route.File, "src/lazaret.toml", "lazaret.toml.md")
}

// What the host is about to accept is not the sandbox's to touch on the way.
func TestReservedNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.wantNew(route.Absent, route.File, route.Reserved+"0", "src/"+route.Reserved+"0")
	w.wantNew(route.Absent, route.Dir, route.Reserved+"0")
	w.wantNew(route.Shared, route.File, ".lazaret-accept", "src/a"+route.Reserved)
}

func TestIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.Held, "debug.log", "scratch", "scratch/x", "secrets", "secrets/token", ".venv", ".venv/bin/python")
	w.wantNew(route.Held, route.File, "src/new.log", "dist/new.js", "scratch/a/b/c")
	w.wantNew(route.Held, route.Dir, "node_modules", "src/node_modules", "__pypackages__")
	w.wantNew(route.Shared, route.File, "src/node_modules.md", "dist2")
}

func TestMixedDirectories(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.Shared, "dist", "dist/kept.js", "dist/deep", "dist/deep/kept.js")
	w.want(route.Held, "dist/made.js", "dist/other", "dist/other/made.js")
	delete(w.files, "dist/kept.js")
	w.wantNew(route.Shared, route.File, "dist/kept.js") // git checkout puts it back
}

func TestIgnoredCanBeShared(t *testing.T) {
	t.Parallel()
	config := usual
	config.Ignored = route.IgnoredShared
	w := newWorld(t, config, repository())
	w.want(route.Shared, "debug.log", "scratch/x", ".venv/bin/python", "dist/made.js", "venv")
	w.want(route.StandIn, ".env")
	w.wantNew(route.Held, route.File, ".envrc.local/.mcp.json", ".mcp.json")
}

// TestW02 is about interpreters that host tools start: git need not ignore them, and
// a link can stand for the directory.
func TestW02Environments(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.Held, "venv", "venv/bin/python")
	w.wantNew(route.Held, route.Symlink, ".venv", "node_modules", "src/.venv", "VENV")
	w.wantNew(route.Held, route.File, "odd/pyvenv.cfg")
	w.wantNew(route.Shared, route.File, "venv.md", "src/venv.py", "node_modules")
	delete(w.files, ".venv/bin/python")
	w.wantNew(route.Held, route.Symlink, ".venv")
	w.wantNew(route.Held, route.Dir, ".venv")
	w.files["tracked/node_modules/a.js"] = "x"
	w.host(".git/index", index("tracked/node_modules/a.js"))
	w.want(route.Shared, "tracked/node_modules", "tracked/node_modules/a.js")
}

func TestMasks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.Transient, ".idea", ".idea/workspace.xml", "src/.vscode", "src/.vscode/tasks.json", ".vscode/tasks.json")
	w.want(route.ReadOnly, ".vscode/settings.json")
	w.wantNew(route.Transient, route.Dir, "deep/.zed", ".VSCode")
	w.wantNew(route.Transient, route.Symlink, "deep/.vscode")
	w.wantNew(route.Transient, route.File, ".vscode/launch.json")
	if v := w.at(".vscode"); v.Class != route.Shared || !v.Pinned {
		t.Errorf("a masked directory with tracked files is %+v", v)
	}
	w.wantNew(route.Shared, route.Dir, ".vscode-test", "vscode")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.want(route.StandIn, ".env", "certs/real.pem")
	w.want(route.Shared, "certs/test.pem", ".env.example")
	w.wantNew(route.Held, route.File, "src/.env", "src/.ENV.local", "id_rsa", ".env")
	w.wantNew(route.Held, route.Symlink, "src/id_rsa")
	w.wantNew(route.Shared, route.File, "src/.env.sample", "id_rsa.pub", "src/env")
	w.wantNew(route.Shared, route.Dir, "x.key")
}

func TestW01KindsThatRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, usual, repository())
	w.wantNew(route.Held, route.File, ".mcp.json", "src/.mcp.json", ".codex/config.toml", ".cursor/hooks.json", ".gemini/settings.json",
		"lefthook.yml", ".pre-commit-config.yaml", "a.code-workspace", ".devcontainer/devcontainer.json", ".gdbinit", ".husky/pre-push",
		".claude/hooks/x.sh", "rust-toolchain.toml", ".yarnrc", ".pdbrc", ".irbrc", ".Rprofile", ".cargo/config.toml", "src/.envrc", ".Envrc")
	w.want(route.ReadOnly, ".claude/settings.local.json", ".husky/post-merge", ".envrc")
	for path, mark := range map[string]route.Mark{".claude/settings.json": route.Runs, ".husky/pre-commit": route.Runs, "src/main.go": route.Plain,
		".github/workflows/ci.yml": route.Runs, ".gitignore": route.Rules, "Makefile": route.Script} {
		if v := w.at(path); v.Class != route.Shared || v.Mark != mark {
			t.Errorf("%q is %+v, want it shared with mark %d", path, v, mark)
		}
	}
	for path, mark := range map[string]route.Mark{".github/workflows/new.yml": route.Runs, ".gitlab-ci.yml": route.Runs, "CLAUDE.md": route.Runs,
		"src/.gitignore": route.Rules, "build.sh": route.Script, "src/package.json": route.Script, "workflows/x": route.Plain} {
		if v := w.to(path, route.File); v.Class != route.Shared || v.Mark != mark {
			t.Errorf("a new %q is %+v, want it shared with mark %d", path, v, mark)
		}
	}
}

func TestIgnoredKindsThatRunAreNotShown(t *testing.T) {
	t.Parallel()
	files := repository()
	files[".gitignore"] += ".claude/settings.local.json\n.envrc\n"
	newWorld(t, usual, files).want(route.Held, ".claude/settings.local.json", ".envrc")
}
