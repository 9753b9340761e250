package plan_test

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// setting is one developer's host: a home, a workspace and a prepared lower.
type setting struct {
	t                     *testing.T
	home, workspace, root string
	around                plan.Surroundings
	secret                string
}

func newSetting(t *testing.T) *setting {
	t.Helper()
	s := &setting{t: t, home: t.TempDir(), workspace: t.TempDir(), root: t.TempDir()}
	s.write(filepath.Join(s.root, "etc/passwd"), "root:x:0:0:root:/root:/bin/sh\ndev:x:1000:1001::/home/dev:/bin/sh\nbad:x:99999:0::/x:/bin/sh\n")
	s.around = plan.Surroundings{
		IDs: runtime.IDs{Mode: runtime.ModeSubordinate,
			UIDs: runtime.IDRange{Host: 100000, Count: 65536}, GIDs: runtime.IDRange{Host: 100000, Count: 65536}},
		Lower:       plan.Lower{ID: strings.Repeat("ab", 32), Rootfs: s.root, Env: []string{"PATH=/image/bin", "LANG=de_DE.UTF-8", "HOME=/image"}},
		GuestBinary: "/bin/lazaret-escalate", Runsc: "/bin/runsc", RuntimeDir: "/run/user/1000/lazaret",
		Environ: []string{"HOME=" + s.home, "TERM=xterm-lazaret", "TERMINFO=" + filepath.Join(s.home, "ti")},
	}
	return s
}

func (s *setting) write(path, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *setting) try(profile, toml string) (plan.Plan, error) {
	s.t.Helper()
	s.write(filepath.Join(s.home, ".config/lazaret/config.toml"), toml)
	c, err := config.Load(config.Options{
		Workspace: s.workspace, UID: os.Getuid(),
		Environ: []string{"HOME=" + s.home, "API_KEY=" + s.secret},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return plan.Build(c, profile, s.around)
}

func (s *setting) build(toml string) plan.Plan {
	s.t.Helper()
	p, err := s.try("shell", toml)
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func file(p plan.Plan, path string) string {
	for _, f := range p.Spec.Layer {
		if f.Path == path {
			return string(f.Data)
		}
	}
	return ""
}

func TestPlanOfTheDefaults(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	p := s.build("")
	canonical, err := filepath.EvalSymlinks(s.workspace)
	if err != nil {
		t.Fatal(err)
	}
	id, digest := domain.Identify("shell", canonical)
	if p.Domain != id || !bytes.Equal(p.Digest, digest[:]) || p.Workspace != canonical || p.Spec.Domain != id {
		t.Errorf("identity = %s %x %s", p.Domain, p.Digest, p.Workspace)
	}
	if p.Spec.Hostname != "lazaret-shell" || p.Spec.WorkspaceGuest != "/workspace" || p.Spec.User.Home != "/root" || !p.Escalation {
		t.Errorf("spec = %+v", p.Spec)
	}
	want := runtime.Anchor{Path: "/usr", Upper: p.Root() + "/anchors/usr/upper", Work: p.Root() + "/anchors/usr/work"}
	if !slices.Contains(p.Spec.Anchors, want) {
		t.Errorf("anchors = %+v", p.Spec.Anchors)
	}
	if !slices.IsSorted(p.Spec.Env) || !slices.Contains(p.Spec.Env, "PATH=/image/bin") || !slices.Contains(p.Spec.Env, "HOME=/root") {
		t.Errorf("environment = %q", p.Spec.Env)
	}
	for _, v := range p.Spec.Env {
		if strings.Contains(v, s.home) {
			t.Errorf("the host's environment leaks: %q", v)
		}
	}
}

func TestPlanSurvivesItsRecord(t *testing.T) {
	t.Parallel()
	p := newSetting(t).build("[network]\ndefault_allow = [\"10.1.0.0/16\"]\n")
	record, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	back, err := plan.Decode(record)
	if err != nil || !reflect.DeepEqual(back, p) {
		t.Errorf("came back as %+v, %v", back, err)
	}
	if _, err := plan.Decode(append(record, 0)); err == nil {
		t.Error("a longer record was accepted")
	}
}

// TestFingerprintFollowsTheConfiguration: each change shows in exactly the fact
// that names it, and what belongs to a session or to the host's day does not.
func TestFingerprintFollowsTheConfiguration(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	s.secret = "one"
	const base = "[profiles.shell]\nimage = \"builtin\"\nenv = { KEY = \"env:API_KEY\" }\n"
	p := s.build(base)
	same := func(what string, q plan.Plan) {
		t.Helper()
		if !bytes.Equal(p.Fingerprint, q.Fingerprint) {
			t.Errorf("%s changes the fingerprint: %v", what, changed(p, q))
		}
	}
	same("nothing", s.build(base))
	same("the command", s.build(base+"command = [\"sh\"]\n"))
	s.around.Environ = append(s.around.Environ, "TERM=tmux")
	same("the terminal", s.build(base))
	for _, c := range []struct{ toml, fact string }{
		{base + "user = \"dev\"\n", "user"},
		{base + "network = false\n", "network"},
		{base + "deny_egress = [\"203.0.113.0/24\"]\n", "denied networks"},
		{base + "install = \"apt-get install x\"\n", "install step"},
		{base + "ca_certificates = \"image\"\n", "certificates"},
		{base + "escalation = false\n", "escalation"},
		{base + "workspace.ignored = \"shared\"\n", "ignored paths"},
		{base + "workspace.masks = [\".mine\"]\n", "masked folders"},
		{base + "workspace.secrets = [\"token\"]\n", "secret files"},
		{base + "persistent_dirs = [\"/usr\"]\n", "persistent directories"},
		{base + "[profiles.shell.limits]\nprocesses = 100\n", "limits"},
	} {
		q := s.build(c.toml)
		if got := changed(p, q); !slices.Equal(got, []string{c.fact}) || bytes.Equal(p.Fingerprint, q.Fingerprint) {
			t.Errorf("%q changes %v, want %q", c.toml, got, c.fact)
		}
	}
	s.secret = "two"
	if got := changed(p, s.build(base)); !slices.Equal(got, []string{"environment"}) {
		t.Errorf("a forwarded value changes %v", got)
	}
	for _, f := range p.Facts {
		if strings.Contains(f.Value, "=one") {
			t.Errorf("fact %q shows a forwarded value: %q", f.Name, f.Value)
		}
	}
}

func changed(p, q plan.Plan) (names []string) {
	theirs := map[string]string{}
	for _, f := range q.Facts {
		theirs[f.Name] = f.Value
	}
	for _, f := range p.Facts {
		if theirs[f.Name] != f.Value {
			names = append(names, f.Name)
		}
	}
	return names
}

func TestFactNamesAreDistinct(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, f := range newSetting(t).build("").Facts {
		if seen[f.Name] {
			t.Errorf("two facts are called %q", f.Name)
		}
		seen[f.Name] = true
	}
}

func TestUsers(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	for name, want := range map[string]runtime.User{
		"root": {Home: "/root"}, "dev": {UID: 1000, GID: 1001, Home: "/home/dev"},
		"1000": {UID: 1000, GID: 1001, Home: "/home/dev"}, "1000:7": {UID: 1000, GID: 7, Home: "/home/dev"},
		"4242": {UID: 4242, GID: 4242, Home: "/"},
	} {
		if got := s.build("[profiles.shell]\nuser = \"" + name + "\"\n").Spec.User; got != want {
			t.Errorf("user %q = %+v, want %+v", name, got, want)
		}
	}
	for _, name := range []string{"nobody-here", "bad"} {
		if _, err := s.try("shell", "[profiles.shell]\nuser = \""+name+"\"\n"); fault.KindOf(err) != fault.Config {
			t.Errorf("user %q: err = %v", name, err)
		}
	}
	s.around.IDs = runtime.IDs{Mode: runtime.ModeSingle}
	if _, err := s.try("shell", "[profiles.shell]\nuser = \"dev\"\n"); fault.KindOf(err) != fault.Host {
		t.Errorf("another user without subordinate ids: err = %v", err)
	}
	s.build("[profiles.shell]\nuser = \"root\"\n")
}

// TestPasswdIsReadInsideTheImage: a link in the image must not reach the host.
func TestPasswdIsReadInsideTheImage(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	passwd := filepath.Join(s.root, "etc/passwd")
	outside := filepath.Join(s.home, "passwd")
	s.write(outside, "spy:x:1:1::/x:/bin/sh\n")
	for _, target := range []string{outside, "../../../../../../../../../.." + outside} {
		os.Remove(passwd)
		if err := os.Symlink(target, passwd); err != nil {
			t.Fatal(err)
		}
		if p, err := s.try("shell", "[profiles.shell]\nuser = \"spy\"\n"); err == nil {
			t.Errorf("link to %q gave user %+v", target, p.Spec.User)
		}
	}
	os.Remove(passwd)
	s.write(filepath.Join(s.root, "usr/passwd"), "dev:x:5:5::/x:/bin/sh\n")
	if err := os.Symlink("../usr/passwd", passwd); err != nil {
		t.Fatal(err)
	}
	if got := s.build("[profiles.shell]\nuser = \"dev\"\n").Spec.User.UID; got != 5 {
		t.Errorf("a link inside the image: uid %d", got)
	}
}

func TestTerminfoOfTheHost(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	s.write(filepath.Join(s.home, "ti/x/xterm-lazaret"), "compiled")
	if got := file(s.build(""), "/usr/share/terminfo/x/xterm-lazaret"); got != "compiled" {
		t.Errorf("terminfo = %q", got)
	}
	for _, name := range []string{"../../etc/passwd", "x/../y", "", ".hidden"} {
		s.around.Environ[1] = "TERM=" + name
		for _, f := range s.build("").Spec.Layer {
			if strings.Contains(f.Path, "..") || strings.Contains(f.Path, "hidden") {
				t.Errorf("TERM=%q gives %q", name, f.Path)
			}
		}
	}
}

func TestCertificates(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	bundle := filepath.Join(s.home, "corp.pem")
	s.write(bundle, "-----BEGIN CERTIFICATE-----")
	p := s.build("[profiles.shell]\nca_certificates = \"" + bundle + "\"\n")
	if got := file(p, "/etc/lazaret/ca-certificates.crt"); got != "-----BEGIN CERTIFICATE-----" {
		t.Errorf("bundle = %q", got)
	}
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"} {
		if !slices.Contains(p.Spec.Env, name+"=/etc/lazaret/ca-certificates.crt") {
			t.Errorf("%s is not set", name)
		}
	}
	p = s.build("[profiles.shell]\nca_certificates = \"image\"\n")
	if file(p, "/etc/lazaret/ca-certificates.crt") != "" || slices.ContainsFunc(p.Spec.Env, func(v string) bool { return strings.HasPrefix(v, "SSL_") }) {
		t.Error("the image's own certificates are overridden")
	}
	if _, err := s.try("shell", "[profiles.shell]\nca_certificates = \""+bundle+".gone\"\n"); fault.KindOf(err) != fault.Config {
		t.Errorf("missing bundle: err = %v", err)
	}
}

func TestGitIdentityIsReadWithoutRunningAnything(t *testing.T) {
	t.Parallel()
	s := newSetting(t)
	s.write(filepath.Join(s.home, ".gitconfig"),
		"[include]\n\tpath = /etc/shadow\n[user]\n\tname = Ada \"L\"\n\temail = ada@example.org\n[alias]\n\tx = !touch pwned\n[user \"x\"]\n\tname = No\n")
	got := file(s.build(""), "/etc/gitconfig")
	if !strings.Contains(got, "directory = /workspace") || !strings.Contains(got, `email = "ada@example.org"`) {
		t.Errorf("gitconfig = %q", got)
	}
	if strings.Contains(got, "touch") || strings.Contains(got, "No") || strings.Contains(got, "Ada") {
		t.Errorf("gitconfig takes more than it should: %q", got)
	}
	s.write(filepath.Join(s.root, "etc/gitconfig"), "[core]\n")
	if got := file(s.build(""), "/etc/gitconfig"); got != "" {
		t.Errorf("the image's own file is covered by %q", got)
	}
}

func TestAgentFilesArePartOfTheLayer(t *testing.T) {
	t.Parallel()
	p, err := newSetting(t).try("claude", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Command) == 0 || p.Command[0] != "claude" || p.Install == "" || p.Credential == "" {
		t.Errorf("command %q, install %q, login %q", p.Command, p.Install, p.Credential)
	}
	if !slices.ContainsFunc(p.Spec.Layer, func(f runtime.GuestFile) bool { return strings.HasPrefix(f.Path, "/etc/claude") }) {
		t.Error("the agent's settings are missing")
	}
}
