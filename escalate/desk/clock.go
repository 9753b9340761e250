package desk

import (
	"time"

	"lazaret.dev/lazaret/internal/domain"
)

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// take uses one of the session's tokens, which come back one every refill.
func (s *session) take(now time.Time) bool {
	s.tokens = min(burst, s.tokens+now.Sub(s.filled).Seconds()/refill.Seconds())
	s.filled = now
	if s.tokens < 1 {
		return false
	}
	s.tokens--
	return true
}

// names remembers the last names it was given, a fixed number of them.
type names struct {
	limit int
	order []domain.RequestID // a ring once full
	next  int
	set   map[domain.RequestID]struct{}
}

func (n *names) has(id domain.RequestID) bool {
	_, ok := n.set[id]
	return ok
}

func (n *names) add(id domain.RequestID) {
	if n.set == nil {
		n.set = make(map[domain.RequestID]struct{})
	}
	if len(n.order) < n.limit {
		n.order = append(n.order, id)
	} else {
		delete(n.set, n.order[n.next])
		n.order[n.next] = id
		n.next = (n.next + 1) % n.limit
	}
	n.set[id] = struct{}{}
}
