package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
)

func TestNoFileAtAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.mustLoad()
	if c.DefaultProfile != "shell" || c.Storage.DataRoot != filepath.Join(w.home, ".local/share/lazaret") {
		t.Errorf("default profile %q, data root %q", c.DefaultProfile, c.Storage.DataRoot)
	}
	if c.UI.Theme != "dark" || c.UI.Leader != "ctrl+g" || !c.Escalation.Enabled || c.Escalation.ExpireSeconds != 600 {
		t.Errorf("UI %+v, escalation %+v", c.UI, c.Escalation)
	}
	if got := fmt.Sprint(c.Network.DefaultDeny); got != "[10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 169.254.0.0/16]" {
		t.Errorf("default_deny = %s", got)
	}
	for _, name := range []string{"shell", "claude", "codex", "gemini", "opencode"} {
		p, err := c.Profile(name)
		if err != nil {
			t.Fatalf("Profile(%q): %v", name, err)
		}
		if p.Image != "builtin" || len(p.Command) == 0 || !p.Directfs || !p.NetworkEnabled || p.CACertificates != "host" || p.User != "root" {
			t.Errorf("profile %q = %+v", name, p)
		}
		if p.Limits.Processes != 1024 || p.Limits.MemoryBytes != 0 {
			t.Errorf("limits of %q = %+v: a session without a bound on tasks can take the whole sandbox", name, p.Limits)
		}
		if len(p.PersistentDirs) != 6 {
			t.Errorf("persistent_dirs = %q", p.PersistentDirs)
		}
	}
	shell, _ := c.Profile("shell")
	if !slices.Equal(shell.Command, []string{"bash", "-l"}) {
		t.Errorf("shell runs %q", shell.Command)
	}
}

func TestDataHomeIsRespected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.environ = append(w.environ, "XDG_DATA_HOME=/srv/data", "XDG_CONFIG_HOME=relative/ignored")
	if c := w.mustLoad(); c.Storage.DataRoot != "/srv/data/lazaret" {
		t.Errorf("data root = %q", c.Storage.DataRoot)
	}
}

func TestHomeFallsBackToThePasswordFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	o := w.options()
	o.Environ, o.PasswdHome = nil, func() string { return "/home/listed" }
	c, err := config.Load(o)
	if err != nil || c.Storage.DataRoot != "/home/listed/.local/share/lazaret" {
		t.Errorf("Load = %v, %v", c, err)
	}
	o.PasswdHome = func() string { return "" }
	_, err = config.Load(o)
	wantRefused(t, err, fault.Config, "storage.data_root", "set HOME")
}

func TestLayersAndOrigins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.user("default_profile = \"desk\"\n[ui]\ntheme = \"light\"\nleader = \"ctrl+a\"\n\n[profiles.desk]\nagent = \"claude\"\nenv = { MixedCase = \"kept\", FROM = \"env:SECRET\", GONE = \"env:NOT_THERE\" }\n")
	w.flag = w.write(filepath.Join(w.home, "other.toml"), "ui.theme = \"terminal-16\"\nprofiles.desk.env.MixedCase = \"above\"\n")
	w.environ = append(w.environ, "SECRET=hunter2")
	c := w.mustLoad()
	if c.UI.Theme != "terminal-16" || c.UI.Leader != "ctrl+a" {
		t.Errorf("UI = %+v", c.UI)
	}
	if o := c.Origins["ui.theme"]; o != (config.Origin{Layer: config.LayerFlag, File: w.flag, Line: 1}) {
		t.Errorf("origin of ui.theme = %+v", o)
	}
	if o := c.Origins["ui.leader"]; o != (config.Origin{Layer: config.LayerUser, File: w.userFile(), Line: 4}) {
		t.Errorf("origin of ui.leader = %+v", o)
	}
	p, err := c.Profile("desk")
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]config.EnvVar{}
	for _, v := range p.Env {
		env[v.Name] = v
	}
	if env["MixedCase"].Value != "above" || env["FROM"].Value != "hunter2" || !env["FROM"].FromHost {
		t.Errorf("env = %+v", p.Env)
	}
	if _, ok := env["GONE"]; ok || !slices.Equal(p.EnvUnset, []string{"GONE"}) {
		t.Errorf("unset host variable was forwarded: %+v, unset %q", p.Env, p.EnvUnset)
	}
	for _, e := range c.Entries() {
		if strings.Contains(e.Text(), "hunter2") {
			t.Errorf("%s shows a value of the host's environment", e.Key)
		}
	}
}

func TestTokensAndTilde(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(filepath.Join(w.home, "cache"), filepath.Join(w.home, "dir~"))
	w.user(`
[storage]
data_root = "~/sandboxes"
[profiles.desk]
command = ["run", "{profile_name}", "{domain_hash}", "{\"json\": {not_a_token}}"]
env = { WHERE = "{workspace_dir}" }
image = "oci:{profile_dir}/image"
volumes = [
  { host = "~/cache", container = "/data/{profile_name}", mode = "ro" },
  { host = "` + w.home + `/dir~", container = "/other" },
]
`)
	c := w.mustLoad()
	id, _ := domain.Identify("desk", w.ws)
	p, err := c.Profile("desk")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"run", "desk", string(id), `{"json": {not_a_token}}`}
	if !slices.Equal(p.Command, want) {
		t.Errorf("command = %q, want %q", p.Command, want)
	}
	if p.Image != "oci:"+w.home+"/sandboxes/desk/image" || p.Env[0].Value != w.ws {
		t.Errorf("image %q, env %+v", p.Image, p.Env)
	}
	if got := (config.Volume{Host: w.home + "/cache", Guest: "/data/desk", ReadOnly: true}); p.Volumes[0] != got {
		t.Errorf("volume = %+v, want %+v", p.Volumes[0], got)
	}
	if p.Volumes[1].Host != w.home+"/dir~" || p.Volumes[1].ReadOnly {
		t.Errorf("volume = %+v", p.Volumes[1])
	}
}

// A workspace may be called like a token; its name is a value and is not read again.
func TestTokenValuesAreNotExpandedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ws = filepath.Join(w.home, "{profile_dir}")
	w.mkdir(w.ws)
	w.user("[profiles.desk]\nenv = { A = \"{workspace_dir}\" }\n")
	if got := w.mustLoad().Profiles["desk"].Env[0].Value; got != w.ws {
		t.Errorf("value = %q, want %q", got, w.ws)
	}
}

func TestWorkspaceThatIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.ws = filepath.Join(w.ws, "gone")
	_, err := w.load()
	wantRefused(t, err, fault.Workspace, "gone", "change to a directory")
	w.write(w.ws, "a file")
	_, err = w.load()
	wantRefused(t, err, fault.Workspace, "not a directory")
}

func TestUnknownProfile(t *testing.T) {
	t.Parallel()
	c := newWorld(t).mustLoad()
	_, err := c.Profile("cluade")
	wantRefused(t, err, fault.Config, `"cluade"`, `did you mean "claude"?`)
	_, err = c.Profile("a/b")
	wantRefused(t, err, fault.Config, `"a/b"`, "2 to 32")
}

// badInputs: the text of a file, and what its refusal must say. Each line number
// is of the user's file.
var badInputs = []struct {
	name, text string
	line       int
	parts      []string
}{
	{"syntax", "[ui]\ntheme = \n", 2, []string{"toml.io"}},
	{"duplicate key", "[ui]\ntheme = \"dark\"\ntheme = \"light\"\n", 3, nil},
	{"unknown section", "[storge]\ndata_root = \"/x\"\n", 1, []string{"storge: unknown key", `did you mean "storage"?`}},
	{"unknown key", "[ui]\n\nthme = \"dark\"\n", 3, []string{"ui.thme: unknown key", `did you mean "theme"?`}},
	{"unknown key in a dotted line", "ui.thme = \"dark\"\n", 1, []string{"ui.thme", "theme"}},
	{"unknown key of a profile", "[profiles.desk]\nimages = \"builtin\"\n", 2, []string{"profiles.desk.images", `"image"`}},
	{"capital letters", "[profiles.desk]\nImage = \"builtin\"\n", 2, []string{"profiles.desk.Image", `"image"`}},
	{"far from any key", "[ui]\nqqqqqq = 1\n", 2, []string{"known here: emulator, leader"}},
	{"number for string", "[ui]\ntheme = 7\n", 2, []string{"must be a string, is a whole number", `write it in quotes: "7"`}},
	{"string for boolean", "[escalation]\nenabled = \"yes\"\n", 2, []string{"must be true or false, is a string"}},
	{"fraction for number", "[ui]\nscrollback_lines = 1.5\n", 2, []string{"must be a whole number"}},
	{"string for array", "[network]\ndefault_deny = \"10.0.0.0/8\"\n", 2, []string{"must be an array of strings"}},
	{"number in array", "[network]\ndefault_deny = [\n  \"10.0.0.0/8\",\n  7,\n]\n", 4, []string{"must be a string"}},
	{"table for value", "[ui.theme]\nname = \"x\"\n", 1, []string{"must be a string, is a table"}},
	{"value for table", "ui = 3\n", 1, []string{"must be a table"}},
	{"profile name with a slash", "[profiles.\"a/b\"]\nimage = \"builtin\"\n", 1, []string{`"a/b" is not a profile name`, "2 to 32"}},
	{"profile name with a dot", "[profiles.\"a.b\"]\n", 1, []string{"is not a profile name"}},
	{"profile name too short", "[profiles.a]\nimage = \"builtin\"\n", 1, []string{"is not a profile name"}},
	{"profile name with capitals", "[profiles.Work]\nimage = \"builtin\"\n", 1, []string{"is not a profile name"}},
	{"reserved profile name", "[profiles.domains]\nimage = \"builtin\"\n", 1, []string{"reserved", "my-domains"}},
	{"default profile unknown", "\ndefault_profile = \"shel\"\n", 2, []string{"default_profile", `"shell"`}},
	{"network without length", "[network]\ndefault_deny = [\"10.0.0.1\"]\n", 2, []string{`write "10.0.0.1/32"`}},
	{"network with host bits", "[network]\ndefault_deny = [\"10.1.2.3/8\"]\n", 2, []string{`did you mean "10.0.0.0/8"?`}},
	{"network of IPv6", "[network]\ndefault_allow = [\"fd00::/8\"]\n", 2, []string{"no IPv6"}},
	{"no network", "[network]\ndefault_allow = [\"example.org\"]\n", 2, []string{"is not a network"}},
	{"dots in data_root", "[storage]\ndata_root = \"/srv/../etc\"\n", 2, []string{`contains ".."`}},
	{"relative data_root", "[storage]\ndata_root = \"srv\"\n", 2, []string{"not an absolute path"}},
	{"another user's home", "[storage]\ndata_root = \"~root/x\"\n", 2, []string{"only ~/ is expanded"}},
	{"token in data_root", "[storage]\ndata_root = \"{profile_dir}/x\"\n", 2, []string{"may not use tokens"}},
	{"unknown theme", "[ui]\ntheme = \"drak\"\n", 2, []string{`did you mean "dark"?`}},
	{"unknown emulator", "[ui]\nemulator = \"xterm\"\n", 2, []string{"vt10x"}},
	{"no key chord", "[ui]\nleader = \"control-g\"\n", 2, []string{"ctrl+g"}},
	{"no key chord for action", "[keys]\n\"pane.split\" = \"hyper+q\"\n", 2, []string{"keys.pane.split", "is not a key"}},
	{"scrollback too long", "[ui]\nscrollback_lines = 99999999\n", 2, []string{"not between"}},
	{"no duration", "[escalation]\nexpire = \"soon\"\n", 2, []string{`"10m"`}},
	{"too long", "[escalation]\nexpire = \"48h\"\n", 2, []string{"between 10s and 24h"}},
	{"git auto-approved", "[escalation]\nauto_approve = [\"git push\"]\n", 2, []string{`"git"`, "never be approved"}},
	{"shell text auto-approved", "[escalation]\nauto_approve = [\"adb devices; ls\"]\n", 2, []string{"shell or control characters"}},
	{"unclosed quote", "[escalation]\nauto_approve = [\"adb 'x\"]\n", 2, []string{"unclosed quote"}},
	{"rule without argv", "[[escalation.auto_approve]]\nextra_args = true\n", 1, []string{"auto_approve[0].argv", "must be an array of strings, is missing"}},
	{"rule with unknown key", "[[escalation.auto_approve]]\nargv = [\"adb\"]\nextra = true\n", 3, []string{"unknown key", "extra_args"}},
	{"unknown agent", "[profiles.desk]\nagent = \"cluade\"\n", 2, []string{`did you mean "claude"?`}},
	{"bad image", "[profiles.desk]\nimage = \"my image\"\n", 2, []string{"is not an image"}},
	{"relative image folder", "[profiles.desk]\nimage = \"oci:img\"\n", 2, []string{"not an absolute path"}},
	{"env name", "[profiles.desk.env]\n\"A-B\" = \"x\"\n", 2, []string{"not a name of an environment variable"}},
	{"our env name", "[profiles.desk.env]\nLAZARET_SESSION = \"x\"\n", 2, []string{"Lazaret's own"}},
	{"env number", "[profiles.desk.env]\nA = 1\n", 2, []string{"must be a string", `"1"`}},
	{"env of no host name", "[profiles.desk.env]\nA = \"env:B-C\"\n", 2, []string{"does not name a variable"}},
	{"persist /proc", "[profiles.desk]\npersistent_dirs = [\"/proc/x\"]\n", 2, []string{"cannot persist"}},
	{"persist overlap", "[profiles.desk]\npersistent_dirs = [\"/usr\", \"/usr/local\"]\n", 2, []string{"overlap"}},
	{"persist dots", "[profiles.desk]\npersistent_dirs = [\"/usr/../etc\"]\n", 2, []string{`contains ".."`}},
	{"user", "[profiles.desk]\nuser = \"Root!\"\n", 2, []string{"is not a user"}},
	{"user id", "[profiles.desk]\nuser = \"70000\"\n", 2, []string{"65535"}},
	{"credential", "[profiles.desk]\ncredential = \"/run/lazaret/credential/x\"\n", 2, []string{"cannot be the credentials file"}},
	{"git mode", "[profiles.desk]\ngit.mode = \"worktre\"\n", 2, []string{`did you mean "worktree"?`}},
	{"ignored paths", "[profiles.desk.workspace]\nignored = \"share\"\n", 2, []string{`did you mean "shared"?`}},
	{"mask of a path", "[profiles.desk.workspace]\nmasks = [\"a/.vscode\"]\n", 2, []string{"write one name"}},
	{"no mask", "[profiles.desk.workspace]\nmasks = [\"..\"]\n", 2, []string{"write one name"}},
	{"secret of every name", "[profiles.desk.workspace]\nsecrets = [\"**\"]\n", 2, []string{"every name"}},
	{"broken pattern", "[profiles.desk.workspace]\nsecrets = [\"[a\"]\n", 2, []string{"bracket"}},
	{"size", "[profiles.desk.limits]\nmemory = \"4 GB\"\n", 2, []string{"4GiB"}},
	{"negative limit", "[profiles.desk.limits]\nprocesses = -1\n", 2, []string{"not between"}},
	{"volume without host", "[[profiles.desk.volumes]]\ncontainer = \"/data\"\n", 1, []string{"host is missing"}},
	{"volume with unknown key", "[[profiles.desk.volumes]]\nhost = \"/srv\"\nguest = \"/data\"\ncontainer = \"/data\"\n", 3, []string{"unknown key"}},
	{"volume mode", "[[profiles.desk.volumes]]\nhost = \"/srv\"\ncontainer = \"/data\"\nmode = \"z\"\n", 4, []string{"SELinux"}},
	{"volume relative", "[[profiles.desk.volumes]]\nhost = \"srv\"\ncontainer = \"/data\"\n", 2, []string{"not an absolute path"}},
	{"volume dots", "[[profiles.desk.volumes]]\nhost = \"{workspace_dir}/../x\"\ncontainer = \"/data\"\n", 2, []string{`contains ".."`}},
	{"volume unknown token", "[[profiles.desk.volumes]]\nhost = \"{workspace}/x\"\ncontainer = \"/data\"\n", 1, []string{"{workspace} is not a token", "workspace_dir"}},
	{"volume over workspace", "[[profiles.desk.volumes]]\nhost = \"/srv\"\ncontainer = \"/workspace/x\"\n", 1, []string{"nothing may be mounted"}},
	{"volume over /run", "[[profiles.desk.volumes]]\nhost = \"/srv\"\ncontainer = \"/run/lazaret\"\n", 1, []string{"nothing may be mounted"}},
	{"volume over the root", "[[profiles.desk.volumes]]\nhost = \"/srv\"\ncontainer = \"/\"\n", 1, []string{"nothing may be mounted"}},
	{"volumes overlap", "[profiles.desk]\nvolumes = [{host=\"/srv\", container=\"/d\"}, {host=\"/opt\", container=\"/d/e\"}]\n", 2, []string{"overlap inside"}},
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for _, tc := range badInputs {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).user(tc.text)
			_, err := w.load()
			wantRefused(t, err, fault.Config, append(tc.parts, w.userFile())...)
			if err == nil {
				return
			}
			p := problems(t, err)[0]
			if p.File != w.userFile() || p.Line != tc.line {
				t.Errorf("problem at %s:%d, want line %d: %v", p.File, p.Line, tc.line, err)
			}
		})
	}
}

func TestEveryProblemIsNamedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t).user("[ui]\nthme = 1\nleader = 2\n")
	w.workspace("[ui]\ntheme = 3\n")
	_, err := w.load()
	wantRefused(t, err, fault.Config, "config.toml:2", "config.toml:3", "lazaret.toml:2")
	if n := len(problems(t, err)); n != 3 {
		t.Errorf("%d problems, want 3: %v", n, err)
	}
}

func TestFilesThatAreNotFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mkdir(w.userFile())
	_, err := w.load()
	wantRefused(t, err, fault.Config, w.userFile(), "not a regular file")

	w = newWorld(t)
	w.flag = filepath.Join(w.home, "missing.toml")
	_, err = w.load()
	wantRefused(t, err, fault.Config, "missing.toml", "does not exist")

	w = newWorld(t)
	w.write(filepath.Join(w.ws, "real.toml"), "")
	if err := os.Symlink("real.toml", w.wsFile()); err != nil {
		t.Fatal(err)
	}
	_, err = w.load()
	wantRefused(t, err, fault.Config, w.wsFile(), "symbolic link")

	w = newWorld(t).user(strings.Repeat("#", 256<<10+1))
	_, err = w.load()
	wantRefused(t, err, fault.Config, "larger than 256 KiB")

	w = newWorld(t).user("")
	if err := os.Chmod(w.userFile(), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = w.load()
	wantRefused(t, err, fault.Config, "every user of this host")
}

// Text of a workspace file is hostile: it must not reach a terminal raw.
func TestHostileTextIsEscaped(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\"\\u001b[2J\" = 1\n",
		"[profiles.\"\\u202Eevil\"]\nimage = 1\n",
		"[ui]\ntheme = \"\\u001b]0;x\\u0007\"\n",
	} {
		_, err := newWorld(t).workspace(text).load()
		if err == nil {
			t.Fatalf("accepted %q", text)
		}
		for _, r := range err.Error() + fault.FixOf(err) {
			if r != '\n' && (r < ' ' || r == 0x7f || r == 0x202e) {
				t.Errorf("%q shows %U in %q", text, r, err)
			}
		}
	}
}

// A setting that is read but does nothing yet says so.
func TestRulesThatAreNotAppliedAreSaid(t *testing.T) {
	t.Parallel()
	for text, said := range map[string]bool{"[escalation]\nauto_approve = [\"adb devices\"]\n": true, "": false} {
		w := newWorld(t)
		w.write(w.home+"/.config/lazaret/config.toml", text)
		c, err := w.load()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(c.Notices, "\n"), "no rules yet"); got != said {
			t.Errorf("%q: said = %v", text, got)
		}
	}
}
