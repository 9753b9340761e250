package hostgit_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/hostgit"
)

// world is a repository somebody handed over, and the canary it wants to have run.
type world struct {
	t            *testing.T
	dir, tree    string
	home, canary string
}

// newWorld makes a repository with one commit and changes to it. CANARY in config is the
// canary's path, TREE the work tree's.
func newWorld(t *testing.T, config, attributes string) *world {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: dir, tree: filepath.Join(dir, "tree"), home: filepath.Join(dir, "home"), canary: filepath.Join(dir, "canary")}
	w.write(w.canary, "#!/bin/sh\n: > "+w.marker()+"\nexec cat\n")
	for _, path := range []string{w.canary, filepath.Join(dir, "hooks/post-checkout"), filepath.Join(dir, "hooks/reference-transaction")} {
		w.write(path, "#!/bin/sh\n: > "+w.marker()+"\ntest $# -gt 0 || cat\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write(filepath.Join(w.tree, "file"), "one\n")
	w.write(filepath.Join(w.home, "x"), "")
	w.git("init", "-q", "-b", "main", ".")
	w.git("add", "file")
	w.git("commit", "-q", "-m", "first")
	w.write(filepath.Join(w.tree, "file"), "two\n")
	w.write(filepath.Join(w.tree, ".gitattributes"), attributes)
	w.append(".git/config", config)
	return w
}

func (w *world) marker() string { return filepath.Join(w.dir, "ran") }

func (w *world) write(path, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// append adds text to a file of the work tree.
func (w *world) append(at, text string) {
	w.t.Helper()
	path := filepath.Join(w.tree, at)
	old, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	text = strings.NewReplacer("CANARY", w.canary, "DIR", w.dir).Replace(text)
	w.write(path, string(old)+text)
}

// git is the developer's own git, before the repository is a trap.
func (w *world) git(args ...string) string {
	w.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = w.tree
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + w.home, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %q: %v: %s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func (w *world) open() hostgit.Repo {
	w.t.Helper()
	r, err := hostgit.Open(w.tree, []string{"HOME=" + w.home, "GIT_EXTERNAL_DIFF=" + w.canary, "PATH=" + os.Getenv("PATH")})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.With("GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
}

// ran runs git and says whether the canary did.
func (w *world) ran(r hostgit.Repo, in string, args ...string) (bool, error) {
	w.t.Helper()
	os.Remove(w.marker())
	var out bytes.Buffer
	err := r.Run(w.t.Context(), []byte(in), &out, args...)
	_, gone := os.Stat(w.marker())
	return gone == nil, err
}

// trap is one way a repository names a program, a git command that would run it, and the
// guards without any of which it does.
type trap struct {
	name, config, attributes string
	prepare                  func(*world)
	in                       string
	args                     []string
	guards                   []string
}

const (
	network = "GIT_ALLOW_PROTOCOL protocol.allow "
	signed  = "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\nauthor a <a@b> 1 +0000\ncommitter a <a@b> 1 +0000\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n aaaa\n -----END PGP SIGNATURE-----\n\nx\n"
)

var traps = []trap{
	{name: "file system monitor", config: "[core]\nfsmonitor = CANARY\n", args: []string{"status"}, guards: []string{"core.fsmonitor"}},
	{name: "hooks path", config: "[core]\nhooksPath = DIR/hooks\n", args: []string{"checkout", "-q", "HEAD"}, guards: []string{"core.hooksPath"}},
	{name: "hook of the repository", prepare: func(w *world) { w.git("config", "core.hooksPath", ".git/hooks"); linkHook(w, "post-checkout") },
		args: []string{"checkout", "-q", "HEAD"}, guards: []string{"core.hooksPath"}},
	{name: "hook of references", config: "[core]\nhooksPath = DIR/hooks\n", args: []string{"update-ref", "refs/heads/x", "HEAD"}, guards: []string{"core.hooksPath"}},
	{name: "clean", config: "[filter \"odd\"]\nclean = CANARY\nrequired\n", attributes: "* filter=odd\n", args: []string{"diff"}, guards: []string{"filter.odd.clean"}},
	{name: "clean with an equals sign", config: "[filter \"a=b\"]\nclean = CANARY\n", attributes: "* filter=a=b\n", args: []string{"diff"}, guards: []string{"filter.a=b.clean"}},
	{name: "clean without a name", config: "[filter \"\"]\nclean = CANARY\n", attributes: "* filter=\n", args: []string{"diff"}, guards: []string{"filter..clean"}},
	{name: "clean by add", config: "[filter \"odd\"]\nclean = CANARY\n", attributes: "* filter=odd\n", args: []string{"add", "file"}, guards: []string{"filter.odd.clean"}},
	{name: "smudge", config: "[filter \"odd\"]\nsmudge = CANARY\n", attributes: "* filter=odd\n", args: []string{"cat-file", "--filters", "HEAD:file"}, guards: []string{"filter.odd.smudge"}},
	{name: "process", config: "[filter \"odd\"]\nprocess = CANARY\n", attributes: "* filter=odd\n", args: []string{"diff"}, guards: []string{"filter.odd.process"}},
	{name: "included", config: "[include]\npath = ../more\n", attributes: "* filter=odd\n",
		prepare: func(w *world) { w.append("more", "[filter \"odd\"]\nclean = CANARY\n") }, args: []string{"diff"}, guards: []string{"filter.odd.clean"}},
	{name: "included below HOME", config: "[includeIf \"gitdir:**\"]\npath = ~/more\n", attributes: "* filter=odd\n",
		prepare: func(w *world) { w.append("../home/more", "[filter \"odd\"]\nclean = CANARY\n") }, args: []string{"diff"}, guards: []string{"filter.odd.clean"}},
	{name: "of one work tree", config: "[extensions]\nworktreeConfig\n", attributes: "* filter=odd\n",
		prepare: func(w *world) { w.append(".git/config.worktree", "[filter \"odd\"]\nclean = CANARY\n") }, args: []string{"diff"}, guards: []string{"filter.odd.clean"}},
	{name: "old spelling", config: "[filter.Odd]\nclean = CANARY\n", attributes: "* filter=odd\n", args: []string{"diff"}, guards: []string{"filter.odd.clean"}},
	{name: "external diff", config: "[diff]\nexternal = CANARY\n", args: []string{"diff"}, guards: []string{"diff.external"}},
	{name: "diff command", config: "[diff \"odd\"]\ncommand = CANARY\n", attributes: "* diff=odd\n", args: []string{"diff"}, guards: []string{"diff.odd.command", "diff.external"}},
	{name: "textconv", config: "[diff \"odd\"]\ntextconv = CANARY\n", attributes: "* diff=odd\n", args: []string{"diff"}, guards: []string{"diff.odd.textconv", "diff.external"}},
	{name: "merge driver", config: "[merge \"odd\"]\ndriver = CANARY\n", attributes: "* merge=odd\n", prepare: diverge, args: []string{"merge-tree", "--write-tree", "one", "two"}, guards: []string{"merge.odd.driver"}},
	{name: "signer", config: "[gpg]\nprogram = CANARY\n", args: []string{"commit-tree", "-Sx", "-m", "x", "HEAD^{tree}"}, guards: []string{"gpg.program", "gpg.openpgp.program"}},
	{name: "signer of a kind", config: "[gpg]\nformat = x509\n[gpg \"x509\"]\nprogram = CANARY\n", args: []string{"commit-tree", "-Sx", "-m", "x", "HEAD^{tree}"}, guards: []string{"gpg.x509.program"}},
	{name: "verifier", config: "[gpg]\nprogram = CANARY\n[log]\nshowSignature = true\n", prepare: sign, args: []string{"log", "-1", "signed"},
		guards: []string{"gpg.program", "gpg.openpgp.program", "log.showSignature"}},
	{name: "key command", config: "[gpg]\nformat = ssh\n[gpg \"ssh\"]\ndefaultKeyCommand = CANARY\n", args: []string{"commit-tree", "-S", "-m", "x", "HEAD^{tree}"}, guards: []string{"gpg.ssh.defaultKeyCommand", "gpg.ssh.defaultkeycommand"}},
	{name: "editor", config: "[core]\neditor = CANARY\n", args: []string{"commit", "--allow-empty"}, guards: []string{"core.editor", "GIT_EDITOR"}},
	{name: "alias", config: "[alias]\nodd = !CANARY\n", args: []string{"odd"}, guards: []string{"alias.odd"}},
	{name: "credential helper", config: "[credential]\nhelper = CANARY\n", in: "protocol=https\nhost=x\n\n", args: []string{"credential", "fill"}, guards: []string{"credential.helper"}},
	{name: "credential helper of a host", config: "[credential \"https://x\"]\nhelper = CANARY\n", in: "protocol=https\nhost=x\n\n", args: []string{"credential", "fill"},
		guards: []string{"credential.helper", "credential.https://x.helper"}},
	{name: "question", config: "[core]\naskPass = CANARY\n", in: "protocol=https\nhost=x\n\n", args: []string{"credential", "fill"}, guards: []string{"core.askPass", "GIT_ASKPASS", "SSH_ASKPASS"}},
	{name: "ssh", config: "[core]\nsshCommand = CANARY\n", args: []string{"ls-remote", "ssh://x/y"}, guards: strings.Fields(network + "core.sshCommand GIT_SSH_COMMAND")},
	{name: "remote's program", config: "[remote \"r\"]\nurl = DIR/tree\nuploadpack = CANARY\n", args: []string{"ls-remote", "r"}, guards: strings.Fields(network + "remote.r.uploadpack")},
	{name: "protocol that runs", config: "[remote \"r\"]\nurl = ext::CANARY x\n[protocol \"ext\"]\nallow = always\n", args: []string{"ls-remote", "r"},
		guards: strings.Fields(network + "protocol.ext.allow")},
	{name: "missing object", config: "[extensions]\npartialClone = r\n[core]\nrepositoryformatversion = 1\n[remote \"r\"]\nurl = ext::CANARY x\npromisor = true\n[protocol \"ext\"]\nallow = always\n",
		args: []string{"cat-file", "-p", "1111111111111111111111111111111111111111"}, guards: strings.Fields(network + "protocol.ext.allow remote.r.promisor GIT_NO_LAZY_FETCH")},
	{name: "trailer", config: "[trailer \"odd\"]\nkey = Odd\ncommand = CANARY\n", in: "x\n", args: []string{"interpret-trailers", "--trailer", "odd=1"}, guards: []string{"trailer.odd.command"}},
	{name: "archive", config: "[tar \"tar.odd\"]\ncommand = CANARY\n", args: []string{"archive", "--format=tar.odd", "HEAD"}, guards: []string{"tar.tar.odd.command"}},
	{name: "tool", config: "[difftool \"odd\"]\ncmd = CANARY\n", args: []string{"difftool", "-y", "-t", "odd"}, guards: []string{"difftool.odd.cmd", "difftool.odd.path"}},
	{name: "of a submodule", prepare: submodule, args: []string{"status"}, guards: []string{"diff.ignoreSubmodules"}},
}

func linkHook(w *world, name string) {
	w.write(filepath.Join(w.tree, ".git/hooks", name), "#!/bin/sh\n: > "+w.marker()+"\n")
	if err := os.Chmod(filepath.Join(w.tree, ".git/hooks", name), 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// diverge makes two branches that change the same line.
func diverge(w *world) {
	for _, branch := range []string{"one", "two"} {
		w.git("checkout", "-q", "-f", "-b", branch, "main")
		w.write(filepath.Join(w.tree, "file"), "branch "+branch+"\n")
		w.git("commit", "-q", "-am", branch)
	}
	w.write(filepath.Join(w.tree, ".gitattributes"), "* merge=odd\n")
}

// sign makes a branch whose commit says that it is signed.
func sign(w *world) {
	w.write(filepath.Join(w.dir, "signed"), signed)
	w.git("hash-object", "-t", "tree", "-w", "/dev/null")
	w.git("branch", "signed", w.git("hash-object", "-t", "commit", "-w", "../signed"))
}

// submodule adds one whose own configuration is the trap.
func submodule(w *world) {
	w.write(filepath.Join(w.dir, "sub/file"), "one\n")
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "x"}} {
		w.git(append([]string{"-C", "../sub"}, args...)...)
	}
	w.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../sub", "sub")
	w.git("commit", "-q", "-m", "sub")
	w.append(".git/modules/sub/config", "[filter \"odd\"]\nclean = CANARY\n")
	w.write(filepath.Join(w.tree, "sub/.gitattributes"), "* filter=odd\n")
	w.write(filepath.Join(w.tree, "sub/file"), "two\n")
}

// TestNoTrapOfARepositoryRuns springs every trap, and springs it again without its guards,
// to see that it is one.
func TestNoTrapOfARepositoryRuns(t *testing.T) {
	t.Parallel()
	for _, tr := range traps {
		t.Run(tr.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, tr.config, tr.attributes)
			if tr.prepare != nil {
				tr.prepare(w)
			}
			r := w.open()
			if ran, err := w.ran(r, tr.in, tr.args...); ran {
				t.Errorf("git %q ran the canary (%v)", tr.args, err)
			}
			bare := r.Dropping(func(name string) bool { return slices.Contains(tr.guards, name) })
			if ran, err := w.ran(bare, tr.in, tr.args...); !ran {
				t.Errorf("git %q without %q does not run the canary: the trap is none (%v)", tr.args, tr.guards, err)
			}
		})
	}
}
