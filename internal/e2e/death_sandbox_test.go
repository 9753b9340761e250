//go:build sandbox

package e2e_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/e2e"
)

// rounds is how often each process is killed.
func rounds() int {
	if os.Getenv("LAZARET_TEST_THOROUGH") != "" {
		return 20
	}
	return 5
}

// TestKillMatrix kills every kind of process, again and again, while a client is
// attached: the session ends with Lazaret's own code and a reason, nothing is left,
// and the next start, which is the next round's, works.
func TestKillMatrix(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"coordinator", "supervisor", "run", "sentry", "gofer", "workspace", "client"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHome(t)
			for round := range rounds() {
				c := h.Open("run", "--", "sh", "-c", "echo up; exec cat")
				c.Shows("up")
				family := h.Family()
				h.Find(role).Kill(t)
				r := c.Wait()
				switch {
				case role == "client" && r.Code != 137,
					role != "client" && (r.Code != 125 || !strings.Contains(r.Stderr, "lazaret: ")):
					t.Errorf("round %d: %v", round, r)
				}
				e2e.AwaitGone(t, family)
				h.AwaitStopped()
				if t.Failed() {
					return
				}
			}
			if got := h.Must("echo next"); got != "next\n" {
				t.Errorf("the next start: %q", got)
			}
		})
	}
}

// TestKillingALeader ends the terminal session it is the leader of, and nothing else.
func TestKillingALeader(t *testing.T) {
	t.Parallel()
	const count = "pgrep -f '[s]leep 4321' | wc -l"
	h := e2e.NewHome(t)
	c := h.Hold()
	for range rounds() {
		term := h.Terminal(80, 24, "run", "--", "sh", "-c", "echo shown; exec sleep 4321")
		shows(t, term, "shown")
		if got := h.Must(count); got == "0\n" {
			t.Fatal("the command is not to be found")
		}
		leader := h.Find("leader")
		leader.Kill(t)
		ends(t, term, 137)
		e2e.AwaitGone(t, []e2e.Kin{leader})
		e2e.Await(t, "the command's end", func() bool {
			return h.Must(count) == "0\n"
		})
	}
	if r := c.End(); r.Code != 0 {
		t.Errorf("the other session: %v", r)
	}
	h.AwaitStopped()
}

// TestKillingSlirp leaves the sandbox, which then has no network and says so.
func TestKillingSlirp(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	for range rounds() {
		c := h.Open("run", "--", "bash", "-c", "echo up; while read -r line; do eval \"$line\"; done")
		c.Shows("up")
		family := h.Family()
		h.Find("slirp").Kill(t)
		c.Says("lost its network")
		st := statusOf(t, h)
		if len(st) != 1 || st[0].Status == nil || st[0].Status.NetworkUp || st[0].Status.NetworkReason == "" {
			t.Errorf("%+v", st)
		}
		if r := h.Lazaret("ps"); !strings.Contains(r.Stdout, "down") {
			t.Errorf("ps: %v", r)
		}
		c.Type("echo ali''ve; timeout 1 bash -c ': < /dev/tcp/203.0.113.9/80' || echo un''reachable\n")
		c.Shows("alive")
		c.Shows("unreachable")
		if r := c.End(); r.Code != 0 {
			t.Errorf("%v", r)
		}
		e2e.AwaitGone(t, family)
		h.AwaitStopped()
	}
}

// TestKillWhileStarting kills the coordinator or the client at a moment of the start
// that is different each round.
func TestKillWhileStarting(t *testing.T) {
	t.Parallel()
	for _, victim := range []string{"coordinator", "supervisor", "workspace", "client"} {
		t.Run(victim, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewHome(t)
			for round := range rounds() {
				c := h.Open("run", "--", "sleep", "1000")
				// The victim appears within the start; what runs by then differs.
				e2e.Await(t, victim, func() bool {
					for _, k := range h.Family() {
						if k.Role == victim {
							unix.Poll(nil, round*15)
							k.Kill(t)
							return true
						}
					}
					return false
				})
				r := c.Wait()
				// A supervisor that dies early looks to its helpers like a host that
				// lacks something.
				ours := r.Code == 125 || victim == "supervisor" && r.Code == 121
				if r.Code == 0 || victim != "client" && (!ours || r.Stderr == "") {
					t.Errorf("round %d: %v", round, r)
				}
				h.AwaitStopped()
			}
			h.Must("true")
		})
	}
}

// TestSeveralClientsLoseTheirCoordinator: all of them end, and say why.
func TestSeveralClientsLoseTheirCoordinator(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	var clients []*e2e.Client
	for range 3 {
		clients = append(clients, h.Hold())
	}
	term := h.Terminal(80, 24, "run", "--", "sh", "-c", "printf '\\033[?1000h'; echo shown; exec sleep 1000")
	shows(t, term, "shown")
	family := h.Family()
	h.Find("coordinator").Kill(t)
	for _, c := range clients {
		if r := c.Wait(); r.Code != 125 || r.Stderr == "" {
			t.Errorf("%v", r)
		}
	}
	ends(t, term, 125)
	if !strings.Contains(term.Text(), "lazaret: ") {
		t.Errorf("no reason:\n%s", term.Text())
	}
	e2e.AwaitGone(t, family)
	h.AwaitStopped()
	if got := h.Must("echo next"); got != "next\n" {
		t.Errorf("the next start: %q", got)
	}
}

// TestTermination of a coordinator from outside takes the ordered way down.
func TestTerminatingTheCoordinator(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	c := h.Hold()
	family := h.Family()
	h.Find("coordinator").Signal(t, unix.SIGTERM)
	if r := c.Wait(); r.Code == 0 {
		t.Errorf("%v", r)
	}
	e2e.AwaitGone(t, family)
	log, _ := os.ReadFile(h.DomainRoot("shell") + "/log/coordinator.log")
	if !strings.Contains(string(log), "nothing is left") {
		t.Errorf("%s", log)
	}
}

// TestStaleFiles: what a machine that lost its power leaves does not keep the next
// start from working.
func TestStaleFiles(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	h.Must("echo once > /root/once")
	h.AwaitStopped()
	root := h.DomainRoot("shell")
	if err := os.MkdirAll(root+"/gen/0123456789abcdef/x", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"/endpoint", []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := h.Run("cat", "/root/once"); r.Code != 0 || r.Stdout != "once\n" {
		t.Errorf("%v", r)
	}
	h.AwaitStopped()
	if err := os.WriteFile(root+"/identity", []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := h.Run("true"); r.Code != 124 || !strings.Contains(r.Stderr, root) {
		t.Errorf("a damaged identity: %v", r)
	}
	if err := os.Remove(root + "/identity"); err != nil {
		t.Fatal(err)
	}
	h.Must(fmt.Sprintf("test $(cat /root/once) = %s", "once"))
}
