package notify

import (
	"time"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// Queue is what the tests drive with a clock of their own.
type Queue struct{ q *queue }

func NewQueue(options Options, now time.Time) Queue { return Queue{newQueue(options, now)} }

func (q Queue) Add(now time.Time, dir, name string, what watch.What) { q.q.add(now, dir, name, what) }
func (q Queue) Everything(now time.Time)                             { q.q.everything(now) }
func (q Queue) Take(now time.Time) ([]string, time.Duration)         { return q.q.take(now) }
func (q Queue) Waiting() int                                         { return q.q.paths }
