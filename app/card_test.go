package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/app/apptest"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/views"
)

func ask(d *apptest.Driver, p escalate.Pending) {
	d.Session(0).Say(client.Pending{Pending: p})
	d.Settle()
}

// openCard opens the card of the oldest request and waits until it takes keys.
func openCard(d *apptest.Driver) {
	d.Leader("r")
	d.Wait(time.Second)
}

func decision(t *testing.T, d *apptest.Driver) views.Decide {
	t.Helper()
	all := d.Session(0).Decisions()
	if len(all) != 1 {
		t.Fatalf("%d decisions were sent, want 1:\n%s", len(all), d.Shown())
	}
	return all[0]
}

func undecided(t *testing.T, d *apptest.Driver) {
	t.Helper()
	if n := len(d.Session(0).Decisions()); n != 0 {
		t.Fatalf("%d decisions were sent, want none", n)
	}
}

func TestRequestIsAnnouncedInEveryView(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		for _, key := range []string{"i", "s", "d", "m", "?", "n"} {
			d.Leader(key)
		}
		ask(d, pending(0, "git", "push"))
		mustShow(t, d, "● 1 request waits: ctrl+g r")
		ask(d, pending(1, "git", "push"))
		mustShow(t, d, "● 2 requests wait: ctrl+g r")
		if !strings.Contains(d.Screen.ControlBytes(), "\a") {
			t.Error("no bell was rung")
		}
	})
}

func TestApprove(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		p := pending(0, "git", "push")
		ask(d, p)
		openCard(d)
		d.Type("a")
		got := decision(t, d)
		if got.Verdict != escalate.VerdictApprove || got.Argv != nil || !slices.Equal(got.Pending.Digest, p.Digest) {
			t.Errorf("sent %+v", got)
		}
		mustNotShow(t, d, "Request from the sandbox")
		mustShow(t, d, "nothing waits for you")
		d.Session(0).Say(client.Resolved{Request: p.Request.ID, Outcome: escalate.OutcomeRunning})
		d.Settle()
		mustShow(t, d, "git push runs on the host")
		d.Session(0).Say(client.Resolved{Request: p.Request.ID, Outcome: escalate.OutcomeRan, Detail: "exit status 0"})
		d.Settle()
		mustShow(t, d, "git push ran: exit status 0")
	})
}

// A card takes no key until the developer has paused, however long they type.
func TestCardTakesNoKeyBeforeAPause(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push"))
		d.Leader("r")
		for range 30 {
			d.Keys("a", "d", "q", "y", "e")
			d.Wait(550 * time.Millisecond)
		}
		undecided(t, d)
		mustShow(t, d, "pause typing")
		d.Wait(100 * time.Millisecond)
		mustNotShow(t, d, "pause typing")
		d.Type("a")
		decision(t, d)
	})
}

// Who types a command does not answer the card, even after a pause.
func TestTypingACommandIsNoAnswer(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push"))
		openCard(d)
		for _, r := range "ls -a" {
			d.Type(string(r))
		}
		undecided(t, d)
		mustShow(t, d, "pause typing")
		d.Wait(time.Second)
		d.Type("a")
		decision(t, d)
	})
}

func TestLongRequestIsReadBeforeItIsApproved(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		argv := []string{"echo"}
		for i := range 100 {
			argv = append(argv, fmt.Sprintf("line-%d", i))
		}
		ask(d, pending(0, argv...))
		openCard(d)
		d.Type("a")
		undecided(t, d)
		mustShow(t, d, "scroll to the end first")
		seen := d.Shown()
		// However the developer scrolls, no line is skipped.
		for range 20 {
			d.Type("G")
			seen += d.Shown()
		}
		for i := range 100 {
			if !strings.Contains(seen, fmt.Sprintf("line-%d ", i)) {
				t.Errorf("argument %d was never on the screen", i+1)
			}
		}
		mustShow(t, d, "a approve")
		d.Type("a")
		decision(t, d)
	})
}

func TestGrowingTheScreenIsEnoughToReadIt(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		argv := []string{"echo"}
		for i := range 14 {
			argv = append(argv, fmt.Sprintf("line-%d", i))
		}
		ask(d, pending(0, argv...))
		openCard(d)
		mustShow(t, d, "scroll to the end first")
		d.Send(sizeMsg(120, 40))
		d.Settle()
		d.Type("a")
		decision(t, d)
	})
}

func TestDenyWithAReason(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push"))
		openCard(d)
		d.Keys("d", "not a", "nd not q", "\x7f", "\r")
		got := decision(t, d)
		if got.Verdict != escalate.VerdictDeny || got.Reason != "not and not " {
			t.Errorf("sent %+v", got)
		}
	})
}

func TestEditThenApprove(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push", "--force", "origin"))
		openCard(d)
		d.Keys("e", "j", "j", "x") // remove --force
		d.Keys("\r", "\x15", "upstream", "\r")
		d.Keys("o", "main", "\r")
		mustShow(t, d, "≠", "+")
		d.Type("a")
		got := decision(t, d)
		if want := []string{"git", "push", "upstream", "main"}; !slices.Equal(got.Argv, want) || got.Verdict != escalate.VerdictApprove {
			t.Errorf("sent %v, want %v", got.Argv, want)
		}
	})
}

func TestEditDiscarded(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push", "--force"))
		openCard(d)
		d.Keys("e", "j", "j", "x")
		d.Type("\x1b")
		d.Wait(50 * time.Millisecond)
		d.Type("a")
		if got := decision(t, d); got.Argv != nil {
			t.Errorf("a discarded edit was sent: %v", got.Argv)
		}
	})
}

func TestEditedProgramMakesItApprovable(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		p := pending(0, "gti", "push")
		p.Program, p.ProgramError = "", "gti: not found on this host"
		ask(d, p)
		openCard(d)
		d.Type("a")
		undecided(t, d)
		mustShow(t, d, "gti: not found on this host", "the program cannot be run")
		d.Keys("e", "\r", "\x15", "git", "\r", "a")
		if got := decision(t, d); !slices.Equal(got.Argv, []string{"git", "push"}) {
			t.Errorf("sent %v", got.Argv)
		}
	})
}

func TestRequestWithoutACommandCannotBeApproved(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		p := pending(0, "x")
		p.Request.Argv = nil
		ask(d, p)
		openCard(d)
		d.Type("a")
		undecided(t, d)
		mustShow(t, d, "it names no program")
		d.Keys("d", "\r")
		decision(t, d)
	})
}

func TestAbortAsks(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push"))
		openCard(d)
		d.Keys("q", "n")
		undecided(t, d)
		d.Keys("q", "y")
		if got := decision(t, d); got.Verdict != escalate.VerdictAbort {
			t.Errorf("sent %+v", got)
		}
	})
}

func TestWithdrawnRequestClosesItsCard(t *testing.T) {
	for name, keys := range map[string][]string{"reading": nil, "writing a reason": {"d", "no"}, "being asked": {"q"}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, d *apptest.Driver) {
				p := pending(0, "git", "push")
				ask(d, p)
				openCard(d)
				d.Keys(keys...)
				d.Session(0).Say(client.Resolved{Request: p.Request.ID, Outcome: escalate.OutcomeCancelled})
				d.Settle()
				mustNotShow(t, d, "Request from the sandbox")
				mustNotShow(t, d, "Are you sure")
				mustShow(t, d, "was withdrawn")
				d.Keys("a", "\r", "y")
				undecided(t, d)
				mustWrite(t, d.Session(0), "a\ry")
			})
		})
	}
}

func TestExpiredRequestIsNotApprovable(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		ask(d, pending(0, "git", "push"))
		openCard(d)
		d.Wait(time.Hour)
		d.Type("a")
		undecided(t, d)
		mustShow(t, d, "it has expired")
	})
}

func TestOnlyTheShownRequestIsAnswered(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		first, second := pending(0, "first"), pending(1, "second")
		ask(d, first)
		ask(d, second)
		d.Leader("i")
		d.Keys("j", "\r")
		d.Wait(time.Second)
		mustShow(t, d, "Command  0  second")
		ask(d, pending(2, "third"))
		d.Type("a")
		if got := decision(t, d); got.Pending.Request.ID != second.Request.ID {
			t.Errorf("answered %v", got.Pending.Request.Argv)
		}
	})
}

func TestAnswerThatCannotBeSentComesBack(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Refuse = errors.New("connection is closed")
		ask(d, pending(0, "git", "push"))
		openCard(d)
		d.Type("a")
		mustShow(t, d, "could not be sent", "1 request waits")
	})
}

func TestCardReturnsToWhereTheDeveloperWas(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		for i := range 100 {
			d.Session(0).Print(fmt.Sprintf("line %d\r\n", i))
		}
		d.Settle()
		d.Leader("\x1b[5~")
		before := d.Shown()
		ask(d, pending(0, "git", "push"))
		openCard(d)
		d.Type("a")
		d.Wait(10 * time.Second)
		if got := d.Shown(); got != before {
			t.Errorf("after the answer:\n%s\nbefore the request:\n%s", got, before)
		}
	})
}

func TestHostileRequestIsShownEscaped(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		p := pending(0, "echo", "a\u202eb", "\x1b]52;c;AAAA\x07", "x\u200by", "\u0085\u2028", "")
		p.Request.Why = "first\nsecond\x1b[2J"
		ask(d, p)
		d.Send(sizeMsg(100, 40))
		openCard(d)
		mustShow(t, d, `«a\u{202e}b»`, `«\x1b]52;c;AAAA\x07»`, `«x\u{200b}y»`, `«\x85\u{2028}»`, "«»", "cannot be seen", `second\x1b[2J`)
		if strings.Contains(d.Screen.ControlBytes(), "]52;") {
			t.Error("an argument reached the terminal")
		}
	})
}
