package app_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/apptest"
	"lazaret.dev/lazaret/coordinator/wire"
)

// bubble runs f with a dashboard of 80x24 in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T, d *apptest.Driver), change ...func(*app.Options)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { f(t, apptest.Start(t, 80, 24, change...)) })
}

func mustWrite(t *testing.T, s *apptest.Session, want string) {
	t.Helper()
	if got := s.Written(); got != want {
		t.Errorf("the session received %q, want %q", got, want)
	}
}

func mustShow(t *testing.T, d *apptest.Driver, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(d.Shown(), w) {
			t.Errorf("the screen does not show %q:\n%s", w, d.Shown())
		}
	}
}

func mustNotShow(t *testing.T, d *apptest.Driver, unwanted string) {
	t.Helper()
	if strings.Contains(d.Shown(), unwanted) {
		t.Errorf("the screen shows %q:\n%s", unwanted, d.Shown())
	}
}

// Whatever is typed arrives byte for byte and in order, however it is cut into reads.
func TestTypingIsNeverReordered(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		keys := []string{"a", "é", "日", "\x1b[A", "\x1b[1;5C", "\r", "\x03", "\x04", "\x1a", "\x1b[5~", "\x1b[Z", "\x1bx", "\x7f", "\t", "🚀"}
		rng := rand.New(rand.NewPCG(1, 2)) // rapid cannot run in a bubble
		want := ""
		for round := range 200 {
			all := ""
			for range 1 + rng.IntN(60) {
				all += keys[rng.IntN(len(keys))]
			}
			want += all
			for len(all) > 0 {
				n := 1 + rng.IntN(len(all))
				d.Send(app.InputMsg(all[:n]))
				all = all[n:]
			}
			synctest.Wait()
			if got := d.Session(0).Written(); got != want {
				t.Fatalf("round %d: received …%q, want …%q", round, got[max(0, len(got)-80):], want[max(0, len(want)-80):])
			}
		}
	})
}

func TestLoneEscapeArrives(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Type("\x1b")
		mustWrite(t, d.Session(0), "")
		d.Wait(30 * time.Millisecond)
		mustWrite(t, d.Session(0), "\x1b")
	})
}

func TestLeaderTwiceSendsItThrough(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Keys("a", "\x07", "\x07", "b")
		mustWrite(t, d.Session(0), "a\x07b")
	})
}

func TestLeaderChordNeverReachesTheProgram(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Type("a\x07zb") // in a single read
		mustWrite(t, d.Session(0), "ab")
		d.Keys("\x07", "\x1b") // cancelled
		d.Wait(30 * time.Millisecond)
		d.Type("c")
		mustWrite(t, d.Session(0), "abc")
	})
}

func TestAnotherLeader(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Keys("\x07", "\x01", "?")
		mustWrite(t, d.Session(0), "\x07")
		mustShow(t, d, "Help", "After ctrl+a")
	}, func(o *app.Options) { o.Leader = "ctrl+a" })
}

func TestRebinding(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("I")
		mustShow(t, d, "Nothing waits for you.")
		d.Type("Q")
		mustNotShow(t, d, "Inbox")
		d.Leader("i")
		mustShow(t, d, "does nothing")
	}, func(o *app.Options) { o.Keys = map[string]string{"inbox": "I", "inbox-leave": "Q"} })
}

func TestWhichKeyAppearsOnlyAfterAPause(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Type("\x07")
		mustNotShow(t, d, "split right")
		d.Wait(300 * time.Millisecond)
		mustShow(t, d, "split right")
		d.Type("i")
		mustNotShow(t, d, "split right")
		mustShow(t, d, "Inbox")
	})
}

func TestPasteIsWhole(t *testing.T) {
	for name, c := range map[string]struct{ mode, want string }{
		"bracketed where the program asked": {"\x1b[?2004h", "\x1b[200~one\rtwo\x07three\x1b[201~"},
		"plain where it did not":            {"", "one\rtwo\x07three"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T, d *apptest.Driver) {
				d.Session(0).Print(c.mode)
				d.Settle()
				d.Keys("\x1b[200~one\rtwo", "\x07three\x1b[2", "01~")
				mustWrite(t, d.Session(0), c.want)
			})
		})
	}
}

func TestLargePasteIsByteExact(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		text := strings.Repeat("0123456789abcde\n", 1<<16) // 1 MiB
		d.Type("\x1b[200~" + text + "\x1b[201~")
		if got := d.Session(0).Written(); got != text {
			t.Errorf("received %d bytes, want %d, byte for byte", len(got), len(text))
		}
	})
}

func TestPasteOverTheLimitIsRefusedWhole(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Type("\x1b[200~" + strings.Repeat("x", 9<<20) + "\x1b[201~")
		mustWrite(t, d.Session(0), "")
		mustShow(t, d, "over the limit")
		d.Type("a")
		mustWrite(t, d.Session(0), "a")
	})
}

func TestApplicationCursorKeys(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("\x1b[?1h")
		d.Settle()
		d.Type("\x1b[A")
		mustWrite(t, d.Session(0), "\x1bOA")
	})
}

func TestTypingWhileOpeningIsKept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opened := make(chan error)
		d := apptest.Start(t, 80, 24, func(o *app.Options) {
			o.Sessions.(*apptest.Sessions).Gate = gate(opened)
		})
		d.Type("ls\r")
		opened <- nil
		synctest.Wait()
		mustWrite(t, d.Session(0), "ls\r")
	})
}

func TestTypingGoesOnlyToTheFocusedPane(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Type("two")
		d.Leader("h")
		d.Type("one")
		d.Leader("\t")
		d.Type("!")
		mustWrite(t, d.Session(0), "one")
		mustWrite(t, d.Session(1), "two!")
	})
}

func TestResizeReachesEverySession(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		if got, want := d.Session(0).Request.Size, (wire.Size{Rows: 22, Cols: 80}); got != want {
			t.Errorf("opened with %+v, want %+v", got, want)
		}
		d.Leader("|")
		d.Send(app.SizeMsg{W: 121, H: 40})
		d.Settle()
		for i, cols := range []uint16{60, 60} {
			sizes := d.Session(i).Sizes()
			want := wire.Size{Rows: 38, Cols: cols}
			if len(sizes) == 0 || sizes[len(sizes)-1] != want {
				t.Errorf("session %d was given %v, want %+v at last", i, sizes, want)
			}
		}
	})
}

func TestZoomGivesThePaneTheWholeScreenAndBack(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Leader("|")
		d.Leader("z")
		mustShow(t, d, "zoomed")
		d.Leader("z")
		sizes := d.Session(1).Sizes()
		want := []wire.Size{{Rows: 22, Cols: 80}, {Rows: 22, Cols: 40}}
		if fmt.Sprint(sizes) != fmt.Sprint(want) {
			t.Errorf("sizes %v, want %v", sizes, want)
		}
	})
}

func TestFocusEventsOnlyToThoseWhoAsked(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Type("\x1b[O")
		mustWrite(t, d.Session(0), "")
		d.Session(0).Print("\x1b[?1004h")
		d.Settle()
		d.Keys("\x1b[I", "\x1b[O")
		mustWrite(t, d.Session(0), "\x1b[I\x1b[O")
	})
}

// Queries of a program are answered by its pane, once, in order with typing.
func TestRepliesGoBackToTheProgram(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Session(0).Print("\x1b[6n")
		d.Settle()
		mustWrite(t, d.Session(0), "\x1b[1;1R")
	})
}

func TestOutputIsDrawnAtMostSixtyTimesASecond(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Settle()
		before := d.Screen.Draws()
		for range 1000 {
			d.Session(0).Print("a line that scrolls\r\n")
			d.Wait(time.Millisecond)
		}
		if n := d.Screen.Draws() - before; n > 62 || n < 30 {
			t.Errorf("%d pictures in one second", n)
		}
	})
}

func TestEchoIsDrawnAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Settle()
		for i := range 20 {
			before := d.Screen.Draws()
			d.Type("x")
			d.Session(0).Print("x")
			synctest.Wait() // no time passes
			if d.Screen.Draws() != before+1 {
				t.Fatalf("the echo of key %d was not drawn at once", i)
			}
		}
	})
}

func TestNothingIsDrawnWhileNothingHappens(t *testing.T) {
	bubble(t, func(t *testing.T, d *apptest.Driver) {
		d.Wait(10 * time.Second)
		before := d.Screen.Draws()
		d.Wait(time.Hour)
		if n := d.Screen.Draws() - before; n != 0 {
			t.Errorf("%d pictures in an idle hour", n)
		}
	})
}
