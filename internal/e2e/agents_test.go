//go:build sandbox

package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/e2e"
	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/internal/scriptedmodel"
)

// modelMode makes this test binary the scripted model: it is copied into the
// workspace, where an agent inside reaches it on the sandbox's own loopback.
const modelMode = "scripted-model"

// serveModel serves the script until it is killed. Its first line of output is its
// address.
func serveModel() error {
	server := &scriptedmodel.Server{Script: scriptedmodel.Script{
		{Run: "/run/lazaret/bin/lazaret-escalate --why 'see what the host runs on' -- uname -a"},
		{Say: "The host said: " + scriptedmodel.Result},
	}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s\n", l.Addr())
	return (&http.Server{Handler: server, ReadHeaderTimeout: time.Minute}).Serve(l)
}

// player is an agent of the tests: a profile, and what its screen shows when it
// waits for an instruction.
type player struct {
	profile, prompt string
}

// startModel begins a start script: the model, and its address in $model.
const startModel = `#!/bin/sh
/workspace/model ` + modelMode + ` > /tmp/model.$$ 2>&1 &
until model=$(grep -m 1 http /tmp/model.$$); do sleep 0.1; done
`

// stub behaves as an agent does, for accounts whose tests install none.
const stub = `#!/bin/sh
while printf '%s waits> ' "$1" && read -r line; do
  echo "The host said: $(/run/lazaret/bin/lazaret-escalate --why "$line" -- uname -a)"
done
`

// agents, and the tests that call it, do not run in parallel: real agents share
// their Domains. It gives a Home with two agents ready to start. The account with subordinate
// ids gets the real ones, installed inside by their profiles' install steps and
// kept from run to run; the others get stand-ins, which cost nothing.
func agents(t *testing.T) (h *e2e.Home, first, second player) {
	t.Helper()
	h = e2e.NewHome(t)
	if !hasSubordinateIDs() {
		h.Write("stub", stub)
		configureAgents(h, agentProfile(t, "agent1", "", "sh", "/workspace/stub", "agent1"),
			agentProfile(t, "agent2", "", "sh", "/workspace/stub", "agent2"))
		return h, player{"agent1", "agent1 waits>"}, player{"agent2", "agent2 waits>"}
	}
	// A Domain belongs to its workspace, so that is kept too.
	h.Workspace = filepath.Join(sandboxtest.Cache(t), "agents")
	copySelf(t, h.Write("model", ""))
	h.Write("agent1", startModel+`ANTHROPIC_BASE_URL=$model ANTHROPIC_AUTH_TOKEN=fake exec claude --dangerously-skip-permissions
`)
	h.Write("agent2", startModel+`exec codex --no-daemon --dangerously-bypass-approvals-and-sandbox -c model=scripted -c model_provider=scripted \
  -c "model_providers.scripted={name=\"scripted\",base_url=\"$model/v1\",wire_api=\"responses\"}"
`)
	configureAgents(h, agentProfile(t, "agent1", "claude", "sh", "/workspace/agent1"),
		agentProfile(t, "agent2", "codex", "sh", "/workspace/agent2"))
	installed(t, h, "agent1", "claude")
	installed(t, h, "agent2", "codex")
	return h, player{"agent1", "bypass permissions on"}, player{"agent2", "Ask Codex to do anything"}
}

// configureAgents writes the configuration with those profiles; the dashboard opens
// with the one called agent1.
func configureAgents(h *e2e.Home, profiles ...string) {
	h.WriteConfig(fmt.Sprintf("default_profile = \"agent1\"\n[storage]\ndata_root = %q\n", h.Data) + strings.Join(profiles, ""))
}

func hasSubordinateIDs() bool {
	account := os.Getenv("LAZARET_TEST_ACCOUNT")
	if account == "" {
		account = os.Getenv("USER")
	}
	ranges, _ := os.ReadFile("/etc/subuid")
	return os.Getuid() != 0 && account != "" && strings.Contains("\n"+string(ranges), "\n"+account+":")
}

// agentProfile is the configuration of one profile.
func agentProfile(t *testing.T, name, agent string, command ...string) string {
	text := fmt.Sprintf("[profiles.%s]\nimage = %q\ncommand = [\"%s\"]\n", name, sandboxtest.Source(t), strings.Join(command, `", "`))
	if agent != "" {
		text += fmt.Sprintf("agent = %q\n", agent)
	}
	return text
}

// copySelf copies this test binary to path.
func copySelf(t *testing.T, path string) {
	t.Helper()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := io.Copy(to, self); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// installed runs the profile's install step unless an earlier run did: some
// hundred megabytes from the package registries, unpacked inside.
func installed(t *testing.T, h *e2e.Home, profile, program string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.Program, "run", profile, "--", program, "--version")
	cmd.Dir, cmd.Env = h.Workspace, h.Env
	begun := time.Now()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("install %s: %v\n%s", program, err, out)
	}
	t.Logf("%s is there after %v", program, time.Since(begun).Round(time.Second))
}

// dashboard opens the dashboard with a session of p and waits for its prompt.
func dashboard(t *testing.T, h *e2e.Home, p player) *e2e.Terminal {
	t.Helper()
	term := h.Terminal(120, 36)
	agentShows(t, term, p.prompt)
	return term
}

// agentShows is shows with the patience real agents need on a busy machine.
func agentShows(t *testing.T, term *e2e.Terminal, text string) {
	t.Helper()
	if err := term.Shows(2*e2e.Patience, text); err != nil {
		t.Fatal(err)
	}
}

// instruct types text until the agent shows it: some throw away what comes before
// they have learnt what the terminal can do.
func instruct(t *testing.T, term *e2e.Terminal, text string) {
	t.Helper()
	var err error
	for range 12 {
		typed(t, term, text)
		if err = term.Shows(5*time.Second, text); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// insist types keys each second until text is gone from the screen: a card takes
// none until the developer has paused.
func insist(t *testing.T, term *e2e.Terminal, keys, text string) {
	t.Helper()
	for range 60 {
		if term.Gone(time.Second, text) == nil {
			return
		}
		typed(t, term, keys)
	}
	t.Fatalf("%q is not answered:\n%s", text, term.Text())
}

const leader = "\x07" // ctrl+g

// quit leaves the dashboard, which ends its sessions.
func quit(t *testing.T, term *e2e.Terminal) {
	t.Helper()
	typed(t, term, leader+"q")
	shows(t, term, "Quit and end")
	insist(t, term, "y", "Quit and end")
	ends(t, term, 0)
}

// TestAgentAsksTheHost is the whole story: an agent in a pane of the dashboard asks
// for something only the host can do, the developer approves it by keys, and the
// agent goes on with what the host said.
func TestAgentAsksTheHost(t *testing.T) {
	h, agent, _ := agents(t)
	term := dashboard(t, h, agent)
	instruct(t, term, "What does the host run on?")
	typed(t, term, "\r")
	agentShows(t, term, "1 request waits")
	typed(t, term, leader+"r")
	shows(t, term, "Request from the sandbox")
	shows(t, term, "a approve")
	card := term.Text()
	for _, want := range []string{"uname", "-a", h.Workspace, agent.profile} {
		if !strings.Contains(card, want) {
			t.Errorf("the card does not show %q:\n%s", want, card)
		}
	}
	insist(t, term, "a", "Request from the sandbox")
	// Only the host's kernel says its release; the sandbox's own says another.
	var host unix.Utsname
	if err := unix.Uname(&host); err != nil {
		t.Fatal(err)
	}
	agentShows(t, term, "The host said: Linux "+unix.ByteSliceToString(host.Nodename[:])+" "+unix.ByteSliceToString(host.Release[:]))
	agentShows(t, term, agent.prompt)
	quit(t, term)
}

// TestTwoAgentsInPanes starts both side by side: each draws its first screen in its
// half, takes keys, and is still right when the terminal has changed its size.
func TestTwoAgentsInPanes(t *testing.T) {
	h, first, second := agents(t)
	term := dashboard(t, h, first)
	typed(t, term, leader+"n")
	shows(t, term, "New session")
	typed(t, term, "\x1b[B") // from agent1 to agent2
	if err := term.Until(e2e.Patience, "the second profile", func(s string) bool {
		return strings.Contains(s, "▸ "+second.profile)
	}); err != nil {
		t.Fatal(err)
	}
	typed(t, term, "\r")
	both := func(screen string) bool {
		return strings.Contains(screen, first.prompt[:len("agent1 waits")]) && strings.Contains(screen, second.prompt[:len("agent1 waits")])
	}
	if err := term.Until(2*e2e.Patience, "both prompts", both); err != nil {
		t.Fatal(err)
	}
	if err := term.Resize(160, 40); err != nil {
		t.Fatal(err)
	}
	if err := term.Until(2*e2e.Patience, "both prompts in the larger terminal", both); err != nil {
		t.Fatal(err)
	}
	instruct(t, term, "Hello")
	quit(t, term)
}
