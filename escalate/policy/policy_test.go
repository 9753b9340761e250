package policy_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/policy"
)

// place is a workspace, a host directory in PATH, and a policy over them.
type place struct {
	*policy.Policy
	workspace, bin, outside string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &place{workspace: filepath.Join(base, "work"), bin: filepath.Join(base, "bin"), outside: filepath.Join(base, "outside")}
	for _, dir := range []string{p.workspace, p.bin, p.outside, filepath.Join(p.workspace, "sub")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tool", "make", "git", "python3.11", "sudo", "env"} {
		p.write(t, filepath.Join(p.bin, name), "#!/bin/sh\n", 0o755)
	}
	p.Policy, err = policy.New(policy.Config{
		Workspace: p.workspace, WorkspaceGuest: "/workspace",
		Environ: []string{"PATH=relative:.:" + p.bin + ":/usr/bin:/bin"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func (p *place) write(t *testing.T, path, data string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func (p *place) judge(t *testing.T, argv ...string) *policy.Plan {
	t.Helper()
	plan, err := p.Judge(argv, ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(plan.Close)
	return plan
}

func warns(plan *policy.Plan, text string) bool {
	return slices.ContainsFunc(plan.Warnings, func(w string) bool { return strings.Contains(w, text) })
}

func TestCheckArgv(t *testing.T) {
	t.Parallel()
	many := make([]string, escalate.MaxArgs+1)
	many[0] = "x"
	long := strings.Repeat("a", escalate.MaxArgBytes)
	for name, argv := range map[string][]string{
		"empty": {}, "no program": {""}, "zero byte": {"ls", "a\x00b"}, "not UTF-8": {"ls", "\xff"},
		"too many": many, "too long": {"ls", long + "a"}, "too much": {long, long, long, long, "a"},
	} {
		if err := policy.CheckArgv(argv); !errors.Is(err, policy.ErrRefused) {
			t.Errorf("%s: %v, want ErrRefused", name, err)
		}
	}
	for name, argv := range map[string][]string{
		"plain": {"ls", "", "ü\n"}, "most": many[:escalate.MaxArgs], "longest": {"ls", long}, "all": {long, long, long, long},
	} {
		if err := policy.CheckArgv(argv); err != nil {
			t.Errorf("harmless twin %s: %v", name, err)
		}
	}
	if err := policy.CheckWhy(strings.Repeat("w", escalate.MaxWhyBytes+1)); !errors.Is(err, policy.ErrRefused) {
		t.Errorf("long justification: %v", err)
	}
	if err := policy.CheckWhy("because\nof this"); err != nil {
		t.Errorf("harmless twin: %v", err)
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for guest, want := range map[string]string{"/workspace": ".", "/workspace/": ".", "/workspace/sub": "sub", "/workspace/a/../sub": "sub"} {
		if got, err := p.Relative(guest); err != nil || got != want {
			t.Errorf("%q is %q, %v", guest, got, err)
		}
	}
	for _, bad := range []string{"", "sub", "/", "/root", "/workspaces", "/workspace/..", "/workspace/../etc", "/workspace/a\x00", "\xff"} {
		if got, err := p.Relative(bad); !errors.Is(err, policy.ErrRefused) {
			t.Errorf("%q is %q, %v", bad, got, err)
		}
	}
}

func TestDirectoryStaysInside(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for name, target := range map[string]string{"out": p.outside, "up": "../outside", "proc": "/proc/self/cwd", "inside": "sub"} {
		if err := os.Symlink(target, filepath.Join(p.workspace, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(p.workspace, "fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"out", "up", "proc", "fifo", "missing", "..", "sub/../../outside"} {
		if _, err := p.Judge([]string{"tool"}, bad); !errors.Is(err, policy.ErrRefused) {
			t.Errorf("%q: %v, want ErrRefused", bad, err)
		}
	}
	plan, err := p.Judge([]string{"tool"}, "inside")
	if err != nil || plan.Dir != filepath.Join(p.workspace, "sub") {
		t.Errorf("a link that stays inside: %v, %v", plan, err)
	}
}

func TestProgramIsFoundOnTheHost(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.workspace, "only-here"), "#!/bin/sh\n", 0o755)
	if plan := p.judge(t, "tool"); plan.Program != filepath.Join(p.bin, "tool") || len(plan.Files) != 0 {
		t.Errorf("tool is %q, %v", plan.Program, plan.Files)
	}
	// A relative PATH entry would find it in the workspace.
	if plan := p.judge(t, "only-here"); plan.Program != "" || !strings.Contains(plan.ProgramError, "only-here") {
		t.Errorf("only-here is %q, %q", plan.Program, plan.ProgramError)
	}
	if plan := p.judge(t, "/workspace/only-here"); !strings.Contains(plan.ProgramError, p.workspace) {
		t.Errorf("a guest path is explained by %q", plan.ProgramError)
	}
	if plan := p.judge(t, "./only-here"); plan.Program != filepath.Join(p.workspace, "only-here") || !warns(plan, policy.WarnProjectCode) {
		t.Errorf("./only-here is %q, %q", plan.Program, plan.Warnings)
	}
	p.write(t, filepath.Join(p.workspace, "data"), "text", 0o644)
	for _, bad := range []string{"./data", "./sub", "./nothing", "/nonexistent/x"} {
		if plan := p.judge(t, bad); plan.Program != "" || plan.ProgramError == "" {
			t.Errorf("%s is %q", bad, plan.Program)
		}
	}
}

func TestLinksToProgramsAreResolved(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.workspace, "mine"), "#!/bin/sh\n", 0o755)
	if err := os.Symlink(filepath.Join(p.workspace, "mine"), filepath.Join(p.bin, "linked")); err != nil {
		t.Fatal(err)
	}
	if plan := p.judge(t, "linked"); plan.Program != filepath.Join(p.workspace, "mine") || !warns(plan, policy.WarnProjectCode) {
		t.Errorf("linked is %q, %q", plan.Program, plan.Warnings)
	}
	if err := os.Symlink(filepath.Join(p.bin, "tool"), filepath.Join(p.workspace, "innocent")); err != nil {
		t.Fatal(err)
	}
	if plan := p.judge(t, "./innocent"); plan.Program != filepath.Join(p.bin, "tool") {
		t.Errorf("./innocent is shown as %q", plan.Program)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(t, filepath.Join(p.workspace, "run.py"), "print()", 0o644)
	p.write(t, filepath.Join(p.workspace, "hook"), "#!/bin/sh\n", 0o644)
	p.write(t, filepath.Join(p.workspace, "plain"), "text", 0o644)
	p.write(t, filepath.Join(p.outside, "secret"), "text", 0o600)
	if err := os.Symlink(filepath.Join(p.outside, "secret"), filepath.Join(p.workspace, "notes")); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		argv []string
		want string
	}{
		"build tool":       {[]string{"make"}, policy.WarnProjectCode},
		"git":              {[]string{"git", "status"}, policy.WarnProjectCode},
		"interpreter":      {[]string{"python3.11", "run.py"}, policy.WarnProjectCode},
		"script operand":   {[]string{"tool", "hook"}, policy.WarnProjectCode},
		"option operand":   {[]string{"tool", "--file=hook"}, policy.WarnProjectCode},
		"data operand":     {[]string{"tool", "plain"}, "names files of the project"},
		"link leading out": {[]string{"tool", "notes"}, "leads out"},
		"wrapper":          {[]string{"env", "x"}, "another program"},
		"raiser":           {[]string{"sudo", "x"}, "another user"},
		"terminal control": {[]string{"tool", "a\x1b[2Kb"}, "control the terminal"},
		"carriage return":  {[]string{"tool", "a\rb"}, "control the terminal"},
		"bidi":             {[]string{"tool", "a\u202eb"}, "reorder"},
		"zero width":       {[]string{"tool", "a\u200bb"}, "cannot be seen"},
		"tag":              {[]string{"tool", "a\U000e0041"}, "cannot be seen"},
		"look-alike":       {[]string{"tool", "pаypal"}, "look alike"},
		"program name":     {[]string{"ｇit"}, "may look like another program"},
		"several lines":    {[]string{"tool", "a\nb"}, "several lines"},
	} {
		if plan := p.judge(t, c.argv...); !warns(plan, c.want) {
			t.Errorf("%s: %q, want %q", name, plan.Warnings, c.want)
		}
	}
	for name, argv := range map[string][]string{
		"plain": {"tool", "--verbose", "origin"}, "letters": {"tool", "größe", "привет", "日本語"}, "emoji": {"tool", "👍🏽"},
	} {
		plan := p.judge(t, argv...)
		if got := slices.DeleteFunc(plan.Warnings, func(w string) bool { return strings.HasPrefix(w, policy.WarnRoot) }); len(got) != 0 {
			t.Errorf("harmless twin %s: %q", name, got)
		}
	}
	if os.Geteuid() == 0 && !warns(p.judge(t, "tool"), policy.WarnRoot) {
		t.Error("root is not said")
	}
}

func bind(plan *policy.Plan) error {
	b, err := plan.Bind()
	if err == nil {
		b.Close()
	}
	return err
}

func TestDriftIsRefusedAndNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := filepath.Join(p.workspace, "deploy")
	p.write(t, script, "#!/bin/sh\necho shown\n", 0o755)
	p.write(t, filepath.Join(p.workspace, "run.py"), "shown", 0o644)
	program, operand, host := p.judge(t, "./deploy"), p.judge(t, "python3.11", "run.py"), p.judge(t, "tool")
	for name, plan := range map[string]*policy.Plan{"program": program, "operand": operand, "host program": host} {
		if err := bind(plan); err != nil {
			t.Fatalf("harmless twin %s: %v", name, err)
		}
	}
	// In place and of the same size: an inode, a size and a second do not show it.
	p.write(t, script, "#!/bin/sh\necho other\n", 0o755)
	p.write(t, filepath.Join(p.workspace, "run.py"), "other", 0o644)
	if err := os.Remove(filepath.Join(p.bin, "tool")); err != nil {
		t.Fatal(err)
	}
	p.write(t, filepath.Join(p.bin, "tool"), "#!/bin/sh\n", 0o755)
	for want, plan := range map[string]*policy.Plan{"deploy": program, "run.py": operand, "tool": host} {
		if err := bind(plan); !errors.Is(err, policy.ErrDrift) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want ErrDrift naming it", want, err)
		}
	}
	gone := p.judge(t, "./deploy")
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/true", script); err != nil {
		t.Fatal(err)
	}
	if err := bind(gone); !errors.Is(err, policy.ErrDrift) {
		t.Errorf("a program replaced by a link: %v", err)
	}
}

func TestDirectoryDriftIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	plan, err := p.Judge([]string{"tool"}, "sub")
	if err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(p.workspace, "sub")
	if err := errors.Join(os.Rename(sub, sub+"2"), os.Symlink("sub2", sub)); err != nil {
		t.Fatal(err)
	}
	if _, err := plan.Bind(); !errors.Is(err, policy.ErrDrift) {
		t.Errorf("a directory replaced by a link: %v", err)
	}
}

func TestHostileProgramsDoNotHang(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	fifo, large := filepath.Join(p.workspace, "fifo"), filepath.Join(p.workspace, "large")
	if err := unix.Mkfifo(fifo, 0o777); err != nil {
		t.Fatal(err)
	}
	p.write(t, large, "", 0o755)
	if err := os.Truncate(large, policy.MaxCopy+1); err != nil {
		t.Fatal(err)
	}
	for argv0, want := range map[string]string{"./fifo": "regular", "./large": "too large"} {
		if plan := p.judge(t, argv0, "fifo", "large"); plan.Program != "" || !strings.Contains(plan.ProgramError, want) {
			t.Errorf("%s: %q, %q", argv0, plan.Program, plan.ProgramError)
		}
	}
}

func TestCopyIsWhatRuns(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	script := filepath.Join(p.workspace, "deploy")
	p.write(t, script, "#!/bin/sh\necho shown\n", 0o755)
	plan := p.judge(t, "./deploy")
	if len(plan.Files) != 1 || !plan.Files[0].Copied || plan.Held() != plan.Files[0].Size {
		t.Fatalf("files are %+v", plan.Files)
	}
	bound, err := plan.Bind()
	if err != nil {
		t.Fatal(err)
	}
	defer bound.Close()
	p.write(t, script, "#!/bin/sh\necho other\n", 0o755)
	buf := make([]byte, 100)
	n, _ := bound.Program.ReadAt(buf, 0)
	if got := string(buf[:n]); got != "#!/bin/sh\necho shown\n" {
		t.Errorf("the copy is %q", got)
	}
	if f, err := os.OpenFile(bound.Program.Name(), os.O_WRONLY, 0); err == nil {
		if _, err := f.Write([]byte("x")); err == nil {
			t.Error("the copy can be written")
		}
		f.Close()
	}
}
