package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/fault"
)

// configWorld is a home and a workspace of their own. It changes the process's
// directory and environment, so these tests do not run in parallel.
func configWorld(t *testing.T) (home, ws string) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, ws = filepath.Join(root, "home"), filepath.Join(root, "ws")
	for _, d := range []string{home, ws} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"} {
		t.Setenv(name, "")
	}
	t.Chdir(ws)
	return home, ws
}

func runConfig(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	root := &cobra.Command{Use: "lazaret", SilenceUsage: true, SilenceErrors: true}
	root.PersistentFlags().String("config", "", "")
	root.AddCommand(newConfigCommand(), newInitCommand())
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetIn(strings.NewReader(stdin))
	root.SetArgs(args)
	err := root.Execute()
	return out.String(), err
}

func TestConfigShow(t *testing.T) {
	home, _ := configWorld(t)
	t.Setenv("MY_TOKEN", "hunter2")
	file := filepath.Join(home, "mine.toml")
	if err := os.WriteFile(file, []byte("[profiles.shell]\nenv = { TOKEN = \"env:MY_TOKEN\", PLAIN = \"x\" }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := runConfig(t, "", "--config", file, "config", "show")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"default_profile = \"shell\"  # default\n",
		"profiles.claude.credential = \"/root/.claude/.credentials.json\"  # recipe\n",
		"profiles.shell.env.TOKEN = \"env:MY_TOKEN\"  # " + file + ":2\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q in:\n%s", want, out)
		}
	}
	js, err := runConfig(t, "", "--config", file, "config", "show", "--json", "profiles.shell.env")
	if err != nil {
		t.Fatal(err)
	}
	var got shown
	if err := json.Unmarshal([]byte(js), &got); err != nil || len(got.Values) != 2 || got.Values["profiles.shell.env.TOKEN"].Line != 2 {
		t.Errorf("JSON = %s, %v", js, err)
	}
	if strings.Contains(out+js, "hunter2") {
		t.Error("a value of the host's environment was printed")
	}
	_, err = runConfig(t, "", "config", "show", "nothing")
	if fault.KindOf(err) != fault.Config {
		t.Errorf("unknown prefix: %v", err)
	}
}

func TestConfigCheck(t *testing.T) {
	home, ws := configWorld(t)
	if out, err := runConfig(t, "", "config", "check"); err != nil || !strings.Contains(out, "ok: 5 profiles") {
		t.Errorf("check = %q, %v", out, err)
	}
	file := filepath.Join(home, "mine.toml")
	if err := os.WriteFile(file, []byte("[profiles.shell]\nvolumes = [{host = \"/\", container = \"/data\"}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := runConfig(t, "", "--config", file, "config", "check")
	if fault.KindOf(err) != fault.Config || !strings.Contains(err.Error(), file+":2") || fault.FixOf(err) == "" {
		t.Errorf("check = %v, fix %q", err, fault.FixOf(err))
	}
	if err := os.WriteFile(filepath.Join(ws, "lazaret.toml"), []byte("ui.theme = \"light\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = runConfig(t, "", "config", "check")
	if fault.KindOf(err) != fault.Config || !strings.Contains(fault.FixOf(err), "lazaret config trust") {
		t.Errorf("check = %v", err)
	}
	_, err = runConfig(t, "", "config", "check", "extra")
	if fault.KindOf(err) != fault.Usage {
		t.Errorf("an argument nobody reads: %v", err)
	}
}

func TestConfigTrust(t *testing.T) {
	_, ws := configWorld(t)
	if _, err := runConfig(t, "y\n", "config", "trust"); fault.KindOf(err) != fault.Config {
		t.Errorf("nothing to trust: %v", err)
	}
	text := "profiles.shell.network = false\nprofiles.shell.image = \"oci:/srv/i\"\n"
	if err := os.WriteFile(filepath.Join(ws, "lazaret.toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, no := range []string{"", "\n", "n\n", "yep\n"} {
		if _, err := runConfig(t, no, "config", "trust"); fault.KindOf(err) != fault.Config {
			t.Errorf("answer %q: %v", no, err)
		}
		if _, err := runConfig(t, "", "config", "check"); err == nil {
			t.Errorf("answer %q was taken for trust", no)
		}
	}
	out, err := runConfig(t, "y\n", "config", "trust")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"! line 2: profiles.shell.image\n      now  \"builtin\"\n      then \"oci:/srv/i\"\n",
		"  line 1: profiles.shell.network\n      now  true\n      then false\n",
		"[y/N]", "trusted\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q in:\n%s", want, out)
		}
	}
	if out, err := runConfig(t, "", "config", "check"); err != nil || !strings.Contains(out, "trusted") {
		t.Errorf("check = %q, %v", out, err)
	}
	if out, err := runConfig(t, "", "config", "trust"); err != nil || !strings.Contains(out, "already trusted") {
		t.Errorf("trust again = %q, %v", out, err)
	}
}

func TestInit(t *testing.T) {
	home, _ := configWorld(t)
	printed, err := runConfig(t, "", "init", "--print")
	if err != nil || !strings.Contains(printed, "[profiles.claude]") {
		t.Fatalf("init --print = %q, %v", printed, err)
	}
	path := filepath.Join(home, ".config/lazaret/config.toml")
	if _, err := os.Lstat(path); err == nil {
		t.Fatal("--print wrote the file")
	}
	if _, err := runConfig(t, "", "init"); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != printed {
		t.Errorf("written: %v", err)
	}
	if _, err := runConfig(t, "", "config", "check"); err != nil {
		t.Error(err)
	}
	_, err = runConfig(t, "", "init")
	if fault.KindOf(err) != fault.Config || !strings.Contains(err.Error(), "exists") {
		t.Errorf("a second init = %v", err)
	}
}
