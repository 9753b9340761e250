package route

import "strings"

// A kind is a sort of file that programs on the host execute or obey.
type kind struct {
	guards bool // a new one is held, an untracked one of the host's read-only
	mark   Mark
	why    string
}

// The kinds. Guarded ones act without being asked: when a directory is opened,
// entered, or committed in.
var (
	editorTask   = &kind{guards: true, mark: Runs, why: "editors run what it says"}
	shellEntry   = &kind{guards: true, mark: Runs, why: "shells run it on entering the directory"}
	agentHook    = &kind{guards: true, mark: Runs, why: "agents run what it says"}
	hookManager  = &kind{guards: true, mark: Runs, why: "git hooks run what it says"}
	debugger     = &kind{guards: true, mark: Runs, why: "debuggers run it"}
	startFile    = &kind{guards: true, mark: Runs, why: "interpreters run it where they are started"}
	container    = &kind{guards: true, mark: Runs, why: "editors build and start containers from it"}
	interpreter  = &kind{guards: true, mark: Runs, why: "makes a directory an environment whose interpreter editors run"}
	toolWrapper  = &kind{guards: true, mark: Runs, why: "build tools and editors start the programs it names"}
	workflow     = &kind{mark: Runs, why: "a CI workflow"}
	instructions = &kind{mark: Runs, why: "agents obey it"}
	gitRules     = &kind{mark: Rules, why: "git rules"}
	gitSources   = &kind{mark: Runs, why: "git fetches from where it says"}
	buildFile    = &kind{mark: Script, why: "a build file"}
)

// names are file names, in small letters, at any depth.
var names = map[string]*kind{
	".envrc": shellEntry, ".autoenv": shellEntry, ".autoenv.zsh": shellEntry, "mise.toml": shellEntry, ".mise.toml": shellEntry,
	"mise.local.toml": shellEntry, ".mise.local.toml": shellEntry, ".rtx.toml": shellEntry,

	".exrc": editorTask, ".vimrc": editorTask, ".nvimrc": editorTask, ".nvim.lua": editorTask, ".lvimrc": editorTask,
	".dir-locals.el": editorTask, ".dir-locals-2.el": editorTask,

	".mcp.json": agentHook, "opencode.json": agentHook, "opencode.jsonc": agentHook, ".aider.conf.yml": agentHook,

	"lefthook.yml": hookManager, "lefthook.yaml": hookManager, ".lefthook.yml": hookManager, ".lefthook.yaml": hookManager,
	"lefthook-local.yml": hookManager, ".lefthook-local.yml": hookManager, ".pre-commit-config.yaml": hookManager,
	".pre-commit-config.yml": hookManager, ".overcommit.yml": hookManager, ".huskyrc": hookManager, ".huskyrc.json": hookManager,
	".huskyrc.js": hookManager, ".simple-git-hooks.json": hookManager, ".simple-git-hooks.js": hookManager,

	".gdbinit": debugger, ".lldbinit": debugger, ".pdbrc": debugger, ".pdbrc.py": debugger,
	".pryrc": startFile, ".irbrc": startFile, ".ghci": startFile, ".rprofile": startFile,
	"rust-toolchain": toolWrapper, "rust-toolchain.toml": toolWrapper, ".yarnrc": toolWrapper, ".npmrc": toolWrapper,
	".devcontainer.json": container, ".gitpod.yml": container,
	"pyvenv.cfg": interpreter,

	".gitlab-ci.yml": workflow, ".travis.yml": workflow, "azure-pipelines.yml": workflow, "jenkinsfile": workflow,
	"bitbucket-pipelines.yml": workflow, ".drone.yml": workflow, "appveyor.yml": workflow, ".appveyor.yml": workflow,
	".cirrus.yml": workflow, ".woodpecker.yml": workflow, "cloudbuild.yaml": workflow, "buildspec.yml": workflow,

	"agents.md": instructions, "claude.md": instructions, "claude.local.md": instructions, "gemini.md": instructions,
	".cursorrules": instructions, ".windsurfrules": instructions, ".clinerules": instructions, "copilot-instructions.md": instructions,

	".gitignore": gitRules, ".gitattributes": gitRules, ".gitmodules": gitSources, ".lfsconfig": gitSources,

	"makefile": buildFile, "gnumakefile": buildFile, "cmakelists.txt": buildFile, "meson.build": buildFile, "configure": buildFile,
	"package.json": buildFile, ".yarnrc.yml": buildFile, ".pnpmfile.cjs": buildFile, "gulpfile.js": buildFile, "gruntfile.js": buildFile,
	"setup.py": buildFile, "setup.cfg": buildFile, "pyproject.toml": buildFile, "tox.ini": buildFile, "noxfile.py": buildFile,
	"conftest.py": buildFile, "build.gradle": buildFile, "build.gradle.kts": buildFile, "settings.gradle": buildFile,
	"settings.gradle.kts": buildFile, "gradlew": buildFile, "mvnw": buildFile, "pom.xml": buildFile, "build.xml": buildFile,
	"cargo.toml": buildFile, "build.rs": buildFile, "build.zig": buildFile, "rakefile": buildFile, "gemfile": buildFile,
	"justfile": buildFile, "taskfile.yml": buildFile, "taskfile.yaml": buildFile, "sconstruct": buildFile, "dockerfile": buildFile,
	"docker-compose.yml": buildFile, "compose.yaml": buildFile, "compose.yml": buildFile, "vagrantfile": buildFile,
	"flake.nix": buildFile, "shell.nix": buildFile, "default.nix": buildFile, ".bazelrc": buildFile, "build.bazel": buildFile,
	"workspace.bazel": buildFile, "module.bazel": buildFile,
}

// endings are ends of file names, in small letters.
var endings = []struct {
	end  string
	kind *kind
}{
	{".code-workspace", editorTask}, {".sublime-project", editorTask}, {".sh", buildFile}, {".bash", buildFile}, {".mk", buildFile},
	{".gemspec", buildFile}, {".config.js", buildFile}, {".config.ts", buildFile}, {".config.mjs", buildFile}, {".config.cjs", buildFile},
}

// folders are directories in which everything is of one kind: by name, or by the
// last two names of the path.
var folders = map[string]*kind{
	".husky": hookManager, ".lefthook": hookManager, ".lefthook-local": hookManager, ".githooks": hookManager,
	".claude": agentHook, ".gemini": agentHook, ".codex": agentHook, ".cursor": agentHook, ".opencode": agentHook, ".continue": agentHook,
	".windsurf": agentHook, ".roo": agentHook, ".kiro": agentHook, ".qwen": agentHook, ".amazonq": agentHook, ".agents": agentHook,
	".devcontainer": container, ".run": editorTask, ".helix": editorTask, ".theia": editorTask, ".settings": editorTask,
	".cargo": toolWrapper, ".mise": shellEntry, ".direnv": shellEntry,
	".circleci": workflow, ".buildkite": workflow, ".woodpecker": workflow, ".semaphore": workflow,
	".github/workflows": workflow, ".github/actions": workflow, ".forgejo/workflows": workflow, ".gitea/workflows": workflow,
}

// environments are directories of programs that host tools start by themselves. They
// are ignored whatever git says.
var environments = map[string]bool{".venv": true, "venv": true, ".virtualenv": true, "node_modules": true, "__pypackages__": true,
	".tox": true, ".nox": true, ".direnv": true}

// kindOf returns the kind of a name of d, nil for an ordinary one. The name has been
// through fold.
func kindOf(d *directory, folded string) *kind {
	if k := names[folded]; k != nil {
		return k
	}
	if k := folderOf(d, folded); k != nil {
		return k
	}
	for _, e := range endings {
		if strings.HasSuffix(folded, e.end) {
			return e.kind
		}
	}
	return nil
}

func folderOf(d *directory, folded string) *kind {
	if folded[0] == '.' {
		return folders[folded]
	}
	if folded != "workflows" && folded != "actions" {
		return nil
	}
	_, up := split(d.path)
	return folders[fold(up)+"/"+folded]
}

// subtreeOf returns the kind of everything in the directory name of d.
func subtreeOf(d *directory, name string) *kind {
	if d.holds != nil || name == "" {
		return d.holds
	}
	return folderOf(d, fold(name))
}
