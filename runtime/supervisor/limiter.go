package supervisor

import "time"

// What the daemon may ask for: a guest decides how often it does.
const (
	mountsPerSecond = 20
	mountsAtOnce    = 200
	mountsInAll     = 5000 // of a generation; far below the kernel's bound on mounts
)

// limiter bounds how often something is done, and how often in all.
type limiter struct {
	interval time.Duration
	burst    int
	left     int
	free     int
	last     time.Time
}

func newLimiter(perSecond, burst, inAll int) *limiter {
	return &limiter{interval: time.Second / time.Duration(perSecond), burst: burst, left: inAll, free: burst, last: time.Now()}
}

// take says whether it may be done once more, now.
func (l *limiter) take() bool { return l.takeAt(time.Now()) }

func (l *limiter) takeAt(now time.Time) bool {
	if grown := int(now.Sub(l.last) / l.interval); grown > 0 {
		l.free = min(l.burst, l.free+grown)
		l.last = l.last.Add(time.Duration(grown) * l.interval)
	}
	if l.free == 0 || l.left == 0 {
		return false
	}
	l.free--
	l.left--
	return true
}
