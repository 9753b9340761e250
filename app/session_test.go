package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/apptest"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
)

// gate holds an Open until something is sent; the error is its result.
func gate(results <-chan error) func(context.Context, app.OpenRequest) error {
	return func(ctx context.Context, _ app.OpenRequest) error {
		select {
		case err := <-results:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func TestProgressOfOneStepStaysInOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := apptest.Start(t, 80, 24, func(o *app.Options) {
			s := o.Sessions.(*apptest.Sessions)
			s.Steps = []string{"unpack 1 of 80 MiB", "unpack 40 of 80 MiB", "unpack 80 of 80 MiB", "start the sandbox"}
			s.Gate = gate(nil)
		})
		d.Settle()
		mustShow(t, d, "✓ unpack 80 of 80 MiB", "· start the sandbox")
		mustNotShow(t, d, "40 of 80")
	})
}

// What the install step says is in the pane until the program writes, and then
// neither there nor in its scrollback. Later notices stay out of the program's way.
func TestSetUpIsShownInThePane(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		for i := range 40 {
			d.Session(0).Say(client.Notice{Level: wire.LevelInfo, Text: fmt.Sprintf("unpacking part %d\x1b[2J", i)})
		}
		d.Settle()
		mustShow(t, d, "unpacking part 38\\x1b[2J", "unpacking part 39")
		d.Session(0).Print("ready> ")
		d.Settle()
		mustShow(t, d, "\nready>")
		mustNotShow(t, d, "unpacking")
		d.Session(0).Say(client.Notice{Level: wire.LevelInfo, Text: "the login was saved"})
		d.Settle()
		mustShow(t, d, "\nready>", "the login was saved")
	})
}

func TestFailedLaunchIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		results := make(chan error)
		d := apptest.Start(t, 80, 24, func(o *app.Options) { o.Sessions.(*apptest.Sessions).Gate = gate(results) })
		results <- &wire.Refused{Code: wire.CodeLaunch, Message: "no /dev/fuse", Fix: "modprobe fuse"}
		synctest.Wait()
		mustShow(t, d, "not started", "no /dev/fuse", "Fix: modprobe fuse")
		d.Type("r") // too soon: it may have been meant for the program
		mustShow(t, d, "no /dev/fuse")
		d.Wait(time.Second)
		d.Type("r")
		mustShow(t, d, "Opening shell")
		results <- nil
		synctest.Wait()
		mustShow(t, d, "running")
	})
}

func TestCommandThatCannotBeStarted(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Lose(&wire.Refused{Code: wire.CodeExec, Message: "claude: not found in the sandbox", Fix: "install it in the profile"})
		d.Settle()
		mustShow(t, d, "not started", "claude: not found", "Fix: install it")
	})
}

func TestExitKeepsTheLastOutput(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("the last words\r\n")
		d.Session(0).Exit(3)
		d.Settle()
		mustShow(t, d, "the last words", "exited with status 3")
	})
}

func TestExitBarHidesNoOutput(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print(strings.Repeat("filler\r\n", 40) + "the very last words")
		d.Session(0).Exit(1)
		d.Settle()
		mustShow(t, d, "the very last words", "exited with status 1")
	})
}

// A developer who is still typing when the program ends must not start or close
// anything by it.
func TestEndedPaneTakesNoKeyBeforeAPause(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Exit(0)
		d.Settle()
		for range 20 {
			d.Keys("r", "x", "\r")
			d.Wait(200 * time.Millisecond)
		}
		mustShow(t, d, "exited with status 0")
		if d.Sessions.Session(1) != nil {
			t.Fatal("typing restarted the session")
		}
		d.Wait(700 * time.Millisecond)
		mustShow(t, d, "r start again")
		d.Type("r")
		d.Session(1).Print("again")
		d.Settle()
		mustShow(t, d, "again", "running")
	})
}

func TestTypingACommandRestartsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Exit(0)
		d.Wait(time.Second)
		d.Keys("u", "n", "a", "m", "e", " ", "-", "r", "\r")
		mustShow(t, d, "exited with status 0")
		if d.Sessions.Session(1) != nil {
			t.Fatal("typing restarted the session")
		}
	})
}

func TestLossIsNamed(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Lose(errGone)
		d.Settle()
		mustShow(t, d, "lost: read coordinator: connection reset by peer")
		d.Wait(time.Second)
		d.Type("x")
		mustShow(t, d, "No session is open")
	})
}

func TestClosingAsksAndUsesTheLadder(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("x")
		mustShow(t, d, "End the session in this pane?")
		d.Type("\r") // Enter is no answer
		mustShow(t, d, "End the session in this pane?")
		d.Type("n")
		if d.Session(0).Ended() {
			t.Fatal("ended after a no")
		}
		d.Leader("x")
		d.Type("y")
		if !d.Session(0).Ended() {
			t.Fatal("not ended after a yes")
		}
		d.Settle()
		mustShow(t, d, "No session is open")
	})
}

func TestClosingGivesTheKeyboardBack(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Leader("-")
		d.Leader("h") // 1
		d.Leader("l") // back right
		d.Leader("x")
		d.Type("y")
		d.Settle()
		d.Type("z")
		mustWrite(t, d.Session(0), "z")
	})
}

func TestClosingAnOpeningPaneCancelsTheLaunch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cancelled := false
		d := apptest.Start(t, 80, 24, func(o *app.Options) {
			o.Sessions.(*apptest.Sessions).Gate = func(ctx context.Context, _ app.OpenRequest) error {
				<-ctx.Done()
				cancelled = true
				return ctx.Err()
			}
		})
		d.Leader("x")
		d.Settle()
		if !cancelled {
			t.Error("the launch goes on")
		}
		mustShow(t, d, "No session is open")
	})
}

func TestQuitAsksOnlyWhenSomethingRuns(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("q")
		mustShow(t, d, "Quit and end 1 session?")
		d.Type("n")
		d.Session(0).Exit(0)
		d.Settle()
		d.Leader("q")
		if !d.Quit() {
			t.Fatal("did not leave although nothing runs")
		}
	})
}

func TestQuitEndsTheSessionsFirst(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Leader("q")
		d.Type("y")
		d.Settle()
		if !d.Session(0).Ended() || !d.Session(1).Ended() {
			t.Error("a session was not ended")
		}
		if !d.Quit() {
			t.Error("did not leave once the sessions had ended")
		}
	})
}

func TestHangupLeavesAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Send(app.HangupMsg{})
		d.Settle()
		if !d.Quit() || !d.Session(0).Closed() {
			t.Error("a hangup did not drop the sessions and leave")
		}
	})
}

func TestSuspensionDrawsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		stopped := make(chan struct{})
		d.Screen.OnSuspend(func() { <-stopped })
		d.Leader("\x1a")
		if d.Screen.Suspends() != 1 {
			t.Fatal("not suspended")
		}
		before := d.Screen.Draws()
		d.Session(0).Print("while away")
		d.Wait(time.Second)
		if d.Screen.Draws() != before {
			t.Error("drawn while suspended")
		}
		close(stopped)
		d.Settle()
		mustShow(t, d, "while away")
	})
}

func TestNewSessionWithACommand(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("n")
		d.Keys("\x1b[B", "m", "ake 'a b'", "\r")
		r := d.Session(1).Request
		if r.Profile != "claude" || strings.Join(r.Argv, "|") != "make|a b" || r.Workspace != apptest.Workspace {
			t.Errorf("opened %+v", r)
		}
	})
}

func TestFleetGoesToASession(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Leader("s")
		d.Keys("k", "\r")
		d.Type("here")
		mustWrite(t, d.Session(0), "here")
	})
}

func TestMessagesNeverReachThePanes(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("prompt$ ")
		d.Session(0).Say(client.Notice{Level: wire.LevelWarning, Text: "a log line\x1b[2J of the coordinator"})
		d.Settle()
		lines := strings.Split(strings.TrimRight(d.Shown(), "\n"), "\n")
		for _, l := range lines[:len(lines)-1] {
			if strings.Contains(l, "log line") {
				t.Errorf("drawn on a pane: %q", l)
			}
		}
		mustShow(t, d, `⚠ shell: a log line\x1b[2J of the coordinator`)
		d.Wait(10 * time.Second)
		mustNotShow(t, d, "a log line")
		d.Leader("m")
		mustShow(t, d, "a log line")
	})
}

func TestTitleIsSanitised(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("\x1b]2;evil\u202etitle\x07")
		d.Settle()
		mustShow(t, d, `evil\u{202e}title`)
	})
}

func TestClipboardIsNeverTakenSilently(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("\x1b]52;c;cm0gLXJmIC8=\x07")
		d.Settle()
		if c := d.Screen.ControlBytes(); strings.Contains(c, "]52;") {
			t.Fatalf("passed on without asking: %q", c)
		}
		mustShow(t, d, "offers 8 bytes for the clipboard")
		d.Leader("y")
		if c := d.Screen.ControlBytes(); !strings.Contains(c, "\x1b]52;c;cm0gLXJmIC8=\x07") {
			t.Errorf("not passed on after the developer took it: %q", c)
		}
	})
}

func TestBellMarksAPaneThatIsNotLookedAt(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Session(0).Print("\a")
		d.Settle()
		mustShow(t, d, "♪ bell")
		d.Leader("h")
		mustNotShow(t, d, "♪ bell")
	})
}
