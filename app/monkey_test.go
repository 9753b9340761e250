package app_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/apptest"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
)

// monkey does anything a developer, a session or a terminal can do, in any order.
type monkey struct {
	d    *apptest.Driver
	rng  *rand.Rand
	asks int
}

func (m *monkey) pick(from ...string) string { return from[m.rng.IntN(len(from))] }

func (m *monkey) step() {
	d := m.d
	switch m.rng.IntN(12) {
	case 0, 1, 2:
		d.Leader(m.pick("n", "|", "-", "h", "j", "k", "l", "\t", ";", "H", "J", "K", "L", "S", "z", "x", "[", "\x1b[5~", "\x1b[6~", "]", "y", "r", "i", "s", "d", "m", "?", "1", "2", "9", "\x07", "\x1a"))
	case 3, 4, 5:
		d.Type(m.pick("a", "d", "e", "q", "y", "n", "x", "o", "v", "V", "/", "G", "g", "j", "k", "\r", "\x1b", "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~", "\x7f", "\x15", "日", "\t", " "))
	case 6:
		d.Type(report(m.rng.IntN(4)+32*m.rng.IntN(3), m.rng.IntN(90), m.rng.IntN(30), m.pick("M", "m")))
	case 7:
		d.Send(app.SizeMsg{W: m.rng.IntN(130), H: m.rng.IntN(45)})
	case 8:
		d.Type("\x1b[200~pasted\ntext\x1b[201~")
	case 9:
		d.Wait(time.Duration(m.rng.IntN(900)) * time.Millisecond)
	default:
		m.session()
	}
}

// session lets one of the open sessions do something.
func (m *monkey) session() {
	s := m.d.Sessions.Session(m.rng.IntN(8))
	if s == nil || s.Over() {
		return
	}
	switch m.rng.IntN(7) {
	case 0:
		s.Print(m.pick("\x1b[2J", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?1003h\x1b[?1006h", "\x1b[?2026h", "\x1b[?2026l", "\x1b]2;日本\x07", "\a", "\x1b]52;c;YQ==\x07"))
	case 1:
		s.Say(client.Pending{Pending: pending(m.asks, "make", fmt.Sprint(m.asks))})
		m.asks++
	case 2:
		s.Say(client.Resolved{Request: requestID(m.rng.IntN(m.asks + 1)), Outcome: escalate.Outcome(m.rng.IntN(9))})
	case 3:
		s.Say(client.Notice{Level: wire.Level(m.rng.IntN(5)), Text: "notice"})
	case 4:
		s.Say(domainStatus())
	case 5:
		if m.rng.IntN(3) == 0 {
			s.Exit(m.rng.IntN(256))
		} else if m.rng.IntN(3) == 0 {
			s.Lose(errors.New("gone"))
		}
	default:
		s.Print("line 日本 🚀 text\r\n")
	}
}

// Nothing that can happen, in any order, makes the dashboard panic or draw other
// than its screen.
func TestMonkey(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := &monkey{rng: rand.New(rand.NewPCG(seed, 7))}
				m.d = apptest.Start(t, 80, 24)
				for range 400 {
					m.step()
					if m.d.Quit() {
						return
					}
				}
				m.d.Send(app.SizeMsg{W: 90, H: 30})
				m.d.Wait(time.Second)
				if g := m.d.Screen.Last(); g.W != 90 || g.H != 30 {
					t.Errorf("the last picture has %dx%d cells", g.W, g.H)
				}
			})
		})
	}
}
