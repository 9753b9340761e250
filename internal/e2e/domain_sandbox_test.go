//go:build sandbox

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
)

// domainStatus is what the tests read of `lazaret status --json`.
type domainStatus struct {
	Profile, Workspace string
	Running            bool
	Status             *struct {
		Mode           string
		Sessions       []struct{ Name string }
		NetworkUp      bool   `json:"network_up"`
		NetworkReason  string `json:"network_reason"`
		Policy, Limits []string
		Log            string
		Anchors        []string
		Coordinator    int `json:"coordinator_pid"`
		Pending        int
	}
}

func statusOf(t *testing.T, h *e2e.Home) []domainStatus {
	t.Helper()
	r := h.Lazaret("status", "--json")
	var all []domainStatus
	if err := json.Unmarshal([]byte(r.Stdout), &all); err != nil || r.Code != 0 {
		t.Fatalf("%v: %v", err, r)
	}
	return all
}

// TestClientsShareADomain: the second joins, the Domain stays for whoever is left,
// and goes with the last.
func TestClientsShareADomain(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.ConfigureShell("limits = { processes = 700, open_files = 900 }", "")
	one := h.Hold()
	two := h.Open("run", "--name", "second", "--", "sh", "-c", "echo here; exec cat")
	two.Shows("here")
	all := statusOf(t, h)
	if len(all) != 1 || !all[0].Running || all[0].Status == nil || len(all[0].Status.Sessions) != 2 || all[0].Workspace != h.Workspace {
		t.Fatalf("%+v", all)
	}
	st := all[0].Status
	if !st.NetworkUp || len(st.Policy) < 5 || len(st.Limits) == 0 || st.Coordinator != h.Find("coordinator").PID || len(st.Anchors) != 6 {
		t.Errorf("%+v", st)
	}
	if mode := map[bool]string{true: "root"}[os.Getuid() == 0]; mode != "" && st.Mode != mode {
		t.Errorf("id mapping %q", st.Mode)
	}
	if r := h.Lazaret("ps"); r.Code != 0 || !strings.Contains(r.Stdout, h.Workspace) || !strings.Contains(r.Stdout, "running") {
		t.Errorf("ps: %v", r)
	}
	if r := h.Lazaret("status"); r.Code != 0 || !strings.Contains(r.Stdout, "deny 10.0.0.0/8") || !strings.Contains(r.Stdout, "second") {
		t.Errorf("status: %v", r)
	}
	h.Must("test $(ps -e -o args= | grep -c '^cat') = 2")
	if r := one.End(); r.Code != 0 {
		t.Errorf("the first: %v", r)
	}
	h.Must("test $(ps -e -o args= | grep -c '^cat') = 1")
	if !two.Running() {
		t.Error("the second ended with the first")
	}
	family := h.Family()
	if r := two.End(); r.Code != 0 {
		t.Errorf("the second: %v", r)
	}
	e2e.AwaitGone(t, family)
	h.AwaitStopped()
	log, _ := os.ReadFile(filepath.Join(h.DomainRoot("shell"), "log", "coordinator.log"))
	if !strings.Contains(string(log), "proof of teardown: nothing is left") {
		t.Errorf("no proof in the log:\n%s", log)
	}
	if all := statusOf(t, h); len(all) != 1 || all[0].Running {
		t.Errorf("after the last one: %+v", all)
	}
}

// TestOtherConfigurationIsRefused: a client whose configuration differs may not join,
// and learns in what; with the same one it may.
func TestOtherConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := h.Hold()
	h.ConfigureShell("allow_egress = [\"10.9.0.0/16\"]\nenv = { TOKEN = \""+canary+"\" }", "")
	r := h.Run("true")
	if r.Code != 123 || !strings.Contains(r.Stderr, "allowed networks") || !strings.Contains(r.Stderr, "10.9.0.0/16") ||
		!strings.Contains(r.Stderr, "environment") || !strings.Contains(r.Stderr, "fix:") {
		t.Errorf("%v", r)
	}
	if strings.Contains(r.Stderr, "certificates") {
		t.Errorf("it names what does not differ: %v", r)
	}
	h.Configure("")
	h.Must("true")
	c.End()
	h.AwaitStopped()
	h.ConfigureShell("allow_egress = [\"10.9.0.0/16\"]", "")
	h.Must("true")
}

// TestManyStartAtOnce: of clients that start together one starts the Domain, and all
// get their sessions.
func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	var clients []*e2e.Client
	for range 6 {
		clients = append(clients, h.Open("run", "--", "sh", "-c", "echo up; exec cat"))
	}
	for _, c := range clients {
		c.Shows("up")
	}
	coordinators := 0
	for _, k := range h.Family() {
		if k.Role == "coordinator" {
			coordinators++
		}
	}
	if coordinators != 1 {
		t.Errorf("%d coordinators", coordinators)
	}
	for _, c := range clients {
		if r := c.End(); r.Code != 0 {
			t.Errorf("%v", r)
		}
	}
}

// TestStartWhileStopping starts again and again at once after the last client, which
// is when the Domain before is going down.
func TestStartWhileStopping(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	for i := range 8 {
		if r := h.Sh("echo again"); r.Code != 0 || r.Stdout != "again\n" {
			t.Errorf("start %d: %v", i, r)
		}
	}
}

func TestDoctorOnThisHost(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	r := h.Lazaret("doctor", "--json")
	var report struct {
		Ready  bool
		Checks []struct{ Name, Status, Detail, Fix string }
	}
	if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil || r.Code != 0 || !report.Ready || len(report.Checks) < 8 {
		t.Fatalf("%v: %v", err, r)
	}
	for _, c := range report.Checks {
		if c.Status != "ok" && (c.Detail == "" || c.Fix == "" && c.Name == "subordinate ids") {
			t.Errorf("no detail or fix: %+v", c)
		}
	}
	if text := h.Lazaret("doctor"); text.Code != 0 || !strings.Contains(text.Stdout, "slirp4netns") {
		t.Errorf("%v", text)
	}
}

// TestSessionsLeaveNothingRunning: jobs a session leaves behind end with it, while
// others of the Domain live on.
func TestSessionsLeaveNothingRunning(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Hold()
	h.Must("setsid sleep 4321 < /dev/null > /dev/null 2>&1 & nohup sleep 4322 > /dev/null 2>&1 & echo left")
	e2e.Await(t, "the jobs of an ended session to end", func() bool {
		return strings.TrimSpace(h.Sh("ps -e -o args= | grep -c '^sleep 432'").Stdout) == "0"
	})
}
