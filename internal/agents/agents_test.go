package agents_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"lazaret.dev/lazaret/internal/agents"
	"lazaret.dev/lazaret/runtime"
)

func all(t *testing.T) []agents.Agent {
	t.Helper()
	var out []agents.Agent
	for _, name := range agents.Names() {
		a, ok := agents.Lookup(name)
		if !ok || a.Name != name {
			t.Fatalf("Lookup(%q) = %q, %v", name, a.Name, ok)
		}
		out = append(out, a)
	}
	return out
}

func file(t *testing.T, agent, at string) runtime.GuestFile {
	t.Helper()
	a, _ := agents.Lookup(agent)
	for _, f := range a.Files {
		if f.Path == at {
			return f
		}
	}
	t.Fatalf("%s has no file %s", agent, at)
	return runtime.GuestFile{}
}

func TestNames(t *testing.T) {
	t.Parallel()
	if got := agents.Names(); !slices.Equal(got, []string{"aider", "claude", "codex", "gemini", "opencode"}) {
		t.Errorf("Names = %q", got)
	}
	if _, ok := agents.Lookup("cluade"); ok {
		t.Error("found an agent that does not exist")
	}
	for _, a := range all(t) {
		if a.Untested != (a.Name == "aider") {
			t.Errorf("%s: Untested = %v", a.Name, a.Untested)
		}
	}
}

// Everything lies outside the workspace, in places of the guest that are State
// Anchors by default, and every agent gets the instruction.
func TestFiles(t *testing.T) {
	t.Parallel()
	for _, a := range all(t) {
		instructed := false
		for _, f := range a.Files {
			if f.Path != path.Clean(f.Path) || !strings.HasPrefix(f.Path, "/etc/") && !strings.HasPrefix(f.Path, "/root/") {
				t.Errorf("%s: %q is not below /etc or /root", a.Name, f.Path)
			}
			if f.Mode != 0o644 || f.Link != "" || len(f.Data) == 0 {
				t.Errorf("%s: %q has mode %o, link %q, %d bytes", a.Name, f.Path, f.Mode, f.Link, len(f.Data))
			}
			if strings.HasSuffix(f.Path, ".json") && !json.Valid(f.Data) {
				t.Errorf("%s: %q is not JSON", a.Name, f.Path)
			}
			instructed = instructed || strings.Contains(string(f.Data), agents.Instruction)
		}
		if !instructed {
			t.Errorf("%s is not told about the host", a.Name)
		}
		if a.Credential != "" && !strings.HasPrefix(a.Credential, "/root/") {
			t.Errorf("%s: login at %q", a.Name, a.Credential)
		}
	}
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	for _, want := range []string{agents.Client + " --why", " -- PROGRAM", "without a shell", "A refusal is an answer"} {
		if !strings.Contains(agents.Instruction, want) {
			t.Errorf("the instruction lacks %q", want)
		}
	}
	if strings.Contains(agents.Instruction, "'''") {
		t.Error("the instruction ends Codex's string")
	}
}

func TestCodexSettings(t *testing.T) {
	t.Parallel()
	var got struct {
		Updates      bool   `toml:"check_for_update_on_startup"`
		Instructions string `toml:"developer_instructions"`
		Projects     map[string]struct {
			Trust string `toml:"trust_level"`
		}
	}
	if err := toml.Unmarshal(file(t, "codex", "/etc/codex/config.toml").Data, &got); err != nil {
		t.Fatal(err)
	}
	if got.Updates || got.Instructions != agents.Instruction || got.Projects["/workspace"].Trust != "trusted" {
		t.Errorf("settings = %+v", got)
	}
}

// Each status is reported by an event of the agent's own, through the client.
func TestHooks(t *testing.T) {
	t.Parallel()
	type entry struct {
		Matcher string
		Hooks   []struct{ Name, Type, Command string }
	}
	for agent, at := range map[string]string{
		"claude": "/etc/claude-code/managed-settings.json",
		"codex":  "/etc/codex/hooks.json",
		"gemini": "/etc/gemini-cli/settings.json",
	} {
		var got struct{ Hooks map[string][]entry }
		if err := json.Unmarshal(file(t, agent, at).Data, &got); err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for event, entries := range got.Hooks {
			for _, e := range entries {
				if len(e.Hooks) != 1 || e.Hooks[0].Type != "command" || agent == "gemini" && e.Hooks[0].Name == "" {
					t.Errorf("%s %s: %+v", agent, event, e)
					continue
				}
				state, ok := strings.CutPrefix(e.Hooks[0].Command, agents.Client+" status ")
				if !ok {
					t.Errorf("%s %s runs %q", agent, event, e.Hooks[0].Command)
				}
				seen[state] = true
			}
		}
		for _, s := range []agents.State{agents.StateStarted, agents.StateWorking, agents.StatePermission, agents.StateDone, agents.StateEnded} {
			if !seen[string(s)] {
				t.Errorf("%s never reports %q", agent, s)
			}
		}
	}
}

func TestInstallStepsAreShell(t *testing.T) {
	t.Parallel()
	for _, a := range all(t) {
		if !strings.HasPrefix(a.Install, "set -eu\n") {
			t.Errorf("%s: the step does not stop at its first error", a.Name)
		}
		check := exec.Command("sh", "-n")
		check.Stdin = strings.NewReader(a.Install)
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", a.Name, err, out)
		}
	}
}

// A step that finds its program does nothing: run again, it must not need a
// network. The program is a stand-in first on the path.
func TestInstallStepsAreIdempotent(t *testing.T) {
	t.Parallel()
	for _, a := range all(t) {
		dir := t.TempDir()
		for name, text := range map[string]string{a.Name: "exit 0", "apt-get": "exit 9", "npm": "exit 9", "rm": "exit 9"} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		step := exec.Command("sh", "-c", a.Install)
		step.Env = []string{"PATH=" + dir}
		step.Dir = dir
		if out, err := step.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", a.Name, err, out)
		}
	}
}

func TestUnattended(t *testing.T) {
	t.Parallel()
	for agent, flag := range map[string]string{
		"claude": "--dangerously-skip-permissions",
		"codex":  "--dangerously-bypass-approvals-and-sandbox",
		"gemini": "--approval-mode=yolo",
		"aider":  "--yes-always",
	} {
		if a, _ := agents.Lookup(agent); a.Command[0] != agent || !slices.Contains(a.Command, flag) {
			t.Errorf("%s runs %q", agent, a.Command)
		}
	}
	var settings struct{ Permission string }
	if err := json.Unmarshal(file(t, "opencode", "/etc/opencode/opencode.json").Data, &settings); err != nil || settings.Permission != "allow" {
		t.Errorf("opencode: %+v, %v", settings, err)
	}
	claude, _ := agents.Lookup("claude")
	if !slices.Contains(claude.Env, agents.Var{Name: "IS_SANDBOX", Value: "1"}) {
		t.Error("claude refuses to be unattended as root without IS_SANDBOX")
	}
}
