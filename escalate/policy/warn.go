package policy

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/term"
)

// The sentences a card must show. Tests and documentation quote them.
const (
	WarnProjectCode = "runs project code"
	WarnRoot        = "runs as root"
)

// maxOperands bounds how many arguments are looked up as files: all of them.
const maxOperands = escalate.MaxArgs

// interpreters read a file named in their arguments as code.
var interpreters = set("sh", "bash", "dash", "zsh", "ksh", "fish", "ash", "csh", "tcsh", "python", "python2", "python3",
	"perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "luajit", "tclsh", "Rscript", "julia", "java", "groovy",
	"scala", "awk", "gawk", "mawk", "osascript", "pwsh", "expect", "ts-node", "tsx", "psql", "sqlite3", "gdb", "lldb")

// builders read files of the directory they run in as code.
var builders = set("make", "gmake", "ninja", "cmake", "ctest", "meson", "bazel", "scons", "just", "task", "rake", "invoke",
	"npm", "npx", "yarn", "pnpm", "pip", "pip3", "pipx", "poetry", "uv", "uvx", "tox", "nox", "pytest", "cargo", "go",
	"mvn", "gradle", "gradlew", "ant", "sbt", "dotnet", "composer", "bundle", "gem", "mix", "rebar3", "stack", "cabal",
	"swift", "xcodebuild", "flutter", "dart", "terraform", "tofu", "ansible", "ansible-playbook", "vagrant", "docker",
	"docker-compose", "podman", "nix", "nix-build", "nix-shell", "pre-commit", "git", "hg", "jj", "direnv", "vim", "nvim", "emacs")

// wrappers start another program named in their arguments.
var wrappers = set("env", "xargs", "nice", "ionice", "timeout", "nohup", "setsid", "stdbuf", "strace", "ltrace", "time",
	"watch", "flock", "parallel", "find", "chroot", "unshare", "nsenter", "busybox", "toybox", "script", "screen", "tmux",
	"ssh", "systemd-run", "systemctl", "at", "batch", "crontab", "ld.so", "ld-linux-x86-64.so.2", "entr", "fd", "rsync", "tar")

// raisers change whom the command runs as.
var raisers = set("sudo", "doas", "su", "pkexec", "run0", "runuser", "machinectl")

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// known reports whether the requested or the real name of the program is in m. A
// version suffix does not hide one: python3.11 is python3.
func (plan *Plan) known(m map[string]bool) bool {
	for _, name := range []string{filepath.Base(plan.Argv[0]), filepath.Base(plan.Program)} {
		if m[name] || m[strings.TrimRight(name, "0123456789.-")] {
			return true
		}
	}
	return false
}

func (p *Policy) warnings(plan *Plan) []string {
	var w []string
	if p.isRoot {
		w = append(w, WarnRoot+" on the host")
	}
	code := p.codeWarnings(plan)
	w = append(w, code...)
	w = append(w, p.writtenWarnings(plan, code)...)
	if plan.known(raisers) {
		w = append(w, fmt.Sprintf("%s runs the rest of the command as another user", plan.Argv[0]))
	}
	if plan.known(wrappers) {
		w = append(w, fmt.Sprintf("%s can start another program named in its arguments", plan.Argv[0]))
	}
	if d := writableByOthers(plan.Program); d != "" {
		w = append(w, fmt.Sprintf("other users can replace the program: %s is writable by them", d))
	}
	return append(w, textWarnings(plan.Argv)...)
}

func (p *Policy) codeWarnings(plan *Plan) []string {
	var w []string
	files := p.operands(plan)
	switch {
	case plan.copy != nil:
		w = append(w, fmt.Sprintf("%s: %s can be written by the sandbox; a copy of what it is now will run", WarnProjectCode, plan.Program))
	case plan.known(interpreters) && (len(files) > 0 || len(plan.Argv) == 1):
		w = append(w, fmt.Sprintf("%s: %s reads files the sandbox can write as code", WarnProjectCode, plan.Argv[0]))
	case plan.known(interpreters):
		w = append(w, fmt.Sprintf("%s executes what its arguments say, and may load files of the project", plan.Argv[0]))
	case plan.known(builders):
		w = append(w, fmt.Sprintf("%s: %s executes what files of the project say (build files, hooks, configuration)", WarnProjectCode, plan.Argv[0]))
	}
	var code, data []string
	for _, f := range files {
		if f.code {
			code = append(code, f.name)
		} else {
			data = append(data, f.name)
		}
	}
	if len(code) > 0 && plan.copy == nil {
		w = append(w, fmt.Sprintf("%s: executable files of the project are among its arguments: %s", WarnProjectCode, list(code)))
	}
	if len(data) > 0 {
		w = append(w, "names files of the project, which the sandbox can write: "+list(data))
	}
	if len(plan.loose) > 0 {
		w = append(w, "can still change after you approve, because it is too large or there are too many: "+list(plan.loose))
	}
	for _, l := range p.escapes(plan) {
		w = append(w, "a link of the project leads out of it: "+l)
	}
	return w
}

func list(names []string) string {
	const most = 5
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
		names = names[:most]
	}
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = term.Sanitize(n)
	}
	return strings.Join(quoted, ", ") + more
}

// escapes returns the arguments that are links inside the project to something
// outside it: the sandbox made them, and the host would follow them.
func (p *Policy) escapes(plan *Plan) []string {
	const most = 4
	var out []string
	for _, name := range fileArguments(plan.Argv) {
		full := absolute(name, plan.Dir)
		if p.residence(filepath.Clean(full)) == "" {
			continue
		}
		real, err := filepath.EvalSymlinks(full)
		if err != nil || p.residence(real) != "" || len(out) == most {
			continue
		}
		out = append(out, term.Sanitize(name)+" is "+term.Sanitize(real))
	}
	return out
}

// fileArguments returns what may name files among the arguments, also the value of
// --option=FILE.
func fileArguments(argv []string) []string {
	var out []string
	for _, arg := range argv[1:min(len(argv), maxOperands)] {
		name := arg
		if strings.HasPrefix(arg, "-") {
			_, name, _ = strings.Cut(arg, "=")
		}
		if name != "" && len(name) <= unix.PathMax {
			out = append(out, name)
		}
	}
	return out
}

func absolute(name, dir string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// operand is an argument that names a file the sandbox can write.
type operand struct {
	name string // as in the argument
	real string
	root string
	code bool // executable, or begins with #!
}

// operands finds the arguments that name regular files the sandbox can write.
func (p *Policy) operands(plan *Plan) []operand {
	var out []operand
	for _, name := range fileArguments(plan.Argv) {
		if o, ok := p.operand(name, plan.Dir); ok {
			out = append(out, o)
		}
	}
	return out
}

// inspect reports whether real is a regular file, and whether it can be executed.
func inspect(root, real string) (code, regular bool) {
	f, err := openResident(root, real)
	if err != nil {
		return false, false
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return false, false
	}
	head := make([]byte, 2)
	_, err = io.ReadFull(f, head)
	return st.Mode&0o111 != 0 || err == nil && bytes.Equal(head, []byte("#!")), true
}

// writableByOthers returns the program or a directory above it that another user
// could replace it through, else "".
func writableByOthers(program string) string {
	for p := program; p != "" && p != "/"; p = filepath.Dir(p) {
		var st unix.Stat_t
		if unix.Stat(p, &st) != nil {
			return ""
		}
		sticky := st.Mode&unix.S_ISVTX != 0 && st.Mode&unix.S_IFMT == unix.S_IFDIR
		if st.Mode&0o002 != 0 && !sticky {
			return p
		}
	}
	return ""
}

// textWarnings names arguments that may not be what they look like.
func textWarnings(argv []string) []string {
	const most = 4
	var w []string
	for i, a := range argv {
		what := suspicion(a)
		if i == 0 && what == "" && strings.ContainsFunc(a, func(r rune) bool { return r > unicode.MaxASCII }) {
			what = "is not plain ASCII and may look like another program"
		}
		if what == "" {
			continue
		}
		if len(w) == most {
			return append(w, "more arguments contain such characters")
		}
		if i == 0 {
			w = append(w, "the program's name "+what)
		} else {
			w = append(w, fmt.Sprintf("argument %d %s", i, what))
		}
	}
	return w
}

func suspicion(s string) string {
	switch {
	case term.Suspicious(strings.Map(dropLines, s)):
		return "contains characters that control the terminal, reorder text or cannot be seen"
	case mixesAlphabets(s):
		return "mixes alphabets whose letters look alike"
	case strings.Contains(s, "\n"):
		return "has several lines"
	}
	return ""
}

func dropLines(r rune) rune {
	if r == '\n' || r == '\t' {
		return -1
	}
	return r
}

// mixesAlphabets reports a word with Latin letters and letters of an alphabet that
// has look-alikes of them.
func mixesAlphabets(s string) bool {
	words := strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
	return slices.ContainsFunc(words, func(word string) bool {
		latin, other := false, false
		for _, r := range word {
			switch {
			case unicode.Is(unicode.Latin, r):
				latin = true
			case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee, unicode.Lisu, unicode.Coptic):
				other = true
			}
		}
		return latin && other
	})
}
