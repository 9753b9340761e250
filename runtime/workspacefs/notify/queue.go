package notify

import (
	"path"
	"time"
	"unicode/utf8"

	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// Options are the bounds; zero fields take the defaults.
type Options struct {
	Rate   int           // pokes a second in the long run
	Burst  int           // pokes at once after a pause
	Fold   int           // names changed in one directory before it stands for them
	Queue  int           // paths waiting; what does not fit is folded
	Settle time.Duration // how long changes of one directory are merged after the first
}

// A poke takes the guest about 1.2 ms. An editor's save is two events within some
// hundred microseconds, a checkout is thousands within a second.
const (
	defaultRate   = 100
	defaultBurst  = 50
	defaultFold   = 16
	defaultQueue  = 1024
	defaultSettle = 2 * time.Millisecond
)

func (o Options) withDefaults() Options {
	for _, f := range []struct {
		value     *int
		otherwise int
	}{{&o.Rate, defaultRate}, {&o.Burst, defaultBurst}, {&o.Fold, defaultFold}, {&o.Queue, defaultQueue}} {
		if *f.value <= 0 {
			*f.value = f.otherwise
		}
	}
	if o.Settle <= 0 {
		o.Settle = defaultSettle
	}
	return o
}

// top is the path of the workspace itself.
const top = "."

// queue holds what is to be poked. It is pure: the time is a parameter, and must
// not run backwards.
type queue struct {
	options Options
	waiting map[string]*directory
	order   []*directory // by the time they are due
	paths   int          // waiting, directories among them
	tokens  float64
	filled  time.Time // when tokens was right
}

// directory is what waits in one directory.
type directory struct {
	path   string
	due    time.Time
	itself bool
	folded bool // names are left out until it is poked
	names  []string
	known  map[string]bool
}

func newQueue(options Options, now time.Time) *queue {
	options = options.withDefaults()
	return &queue{options: options, waiting: map[string]*directory{}, tokens: float64(options.Burst), filled: now}
}

// add takes one change of name in the directory dir, a clean relative path.
func (q *queue) add(now time.Time, dir, name string, what watch.What) {
	const itself = watch.Created | watch.Removed
	if dir == "" {
		dir = top
	}
	if name == "" || what&(itself|watch.Content|watch.Attributes) == 0 {
		return // the directory above tells
	}
	if !utf8.ValidString(dir) {
		return // a poke's path is text
	}
	d := q.at(now, dir)
	if d == nil {
		return
	}
	if what&itself != 0 || !utf8.ValidString(name) {
		q.mark(d)
	}
	if what&^watch.Directory != watch.Removed && utf8.ValidString(name) {
		q.name(d, name)
	}
}

// everything takes an overflow: what waits says less than the top does.
func (q *queue) everything(now time.Time) {
	clear(q.waiting)
	q.order, q.paths = nil, 0
	q.mark(q.at(now, top))
}

// at returns the directory's entry. When the queue is full it is nil, and the top
// stands for the directory.
func (q *queue) at(now time.Time, dir string) *directory {
	if d := q.waiting[dir]; d != nil {
		return d
	}
	if q.paths >= q.options.Queue && dir != top {
		q.mark(q.at(now, top))
		return nil
	}
	d := &directory{path: dir, due: now.Add(q.options.Settle)}
	q.waiting[dir] = d
	q.order = append(q.order, d)
	return d
}

func (q *queue) mark(d *directory) {
	if !d.itself {
		d.itself = true
		q.paths++
	}
}

func (q *queue) name(d *directory, name string) {
	if d.folded || d.known[name] {
		return
	}
	if len(d.names) < q.options.Fold && q.paths < q.options.Queue {
		if d.known == nil {
			d.known = map[string]bool{}
		}
		d.known[name] = true
		d.names = append(d.names, name)
		q.paths++
		return
	}
	q.paths -= len(d.names)
	d.names, d.known, d.folded = nil, nil, true
	q.mark(d)
}

// take returns what to poke now, names before their directory, and how long to wait
// before asking again; a negative wait is until the next change.
func (q *queue) take(now time.Time) (paths []string, wait time.Duration) {
	q.refill(now)
	for len(q.order) > 0 {
		d := q.order[0]
		if now.Before(d.due) {
			return paths, d.due.Sub(now)
		}
		for len(d.names) > 0 || d.itself {
			if q.tokens < 1 {
				return paths, q.nextToken()
			}
			q.tokens--
			q.paths--
			paths = append(paths, d.next())
		}
		delete(q.waiting, d.path)
		q.order[0] = nil
		q.order = q.order[1:]
	}
	return paths, -1
}

// next takes one path off d. A name that changes again after this waits again.
func (d *directory) next() string {
	if len(d.names) == 0 {
		d.itself, d.folded = false, false
		return d.path
	}
	name := d.names[0]
	d.names = d.names[1:]
	delete(d.known, name)
	return path.Join(d.path, name)
}

func (q *queue) refill(now time.Time) {
	passed := now.Sub(q.filled).Seconds() * float64(q.options.Rate)
	q.tokens, q.filled = min(q.tokens+passed, float64(q.options.Burst)), now
}

func (q *queue) nextToken() time.Duration {
	missing := (1 - q.tokens) / float64(q.options.Rate)
	return time.Duration(missing*float64(time.Second)) + 1
}
