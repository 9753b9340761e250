package guest

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	firstSweepTime = 2 * time.Second
	sweepTime      = 10 * time.Second
	firstPause     = 500 * time.Microsecond
	longPause      = 10 * time.Millisecond
)

// many is how many processes of one session make it look like a fork bomb.
const many = 8

// sweep kills what members returns until two readings in a row find nobody, and
// returns how many processes it reached. members must not return the session's
// wrapper: killing that inside the loop sends the rest to PID 1, out of reach of
// the search.
func sweep(atMost time.Duration, members func() []int) (reached int) {
	seen := map[int]bool{}
	pause, empty := firstPause, 0
	for deadline := time.Now().Add(atMost); empty < 2 && time.Now().Before(deadline); {
		pids := members()
		if len(pids) == 0 {
			empty++
		} else {
			empty = 0
		}
		for _, pid := range pids {
			seen[pid] = true
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		time.Sleep(pause)
		pause = min(2*pause, longPause)
	}
	return len(seen)
}

// sweepSession kills everything of a session but its wrapper (0 when that is gone).
// It takes forking away first: every fork holds a lock of the sentry's that every
// other call waits for, and a bomb would outrun the loop. Then the cgroup: reading
// it is cheap, but it lists zombies too, so only the process table can tell that it
// is over. reap is called before each look.
func (r roots) sweepSession(id string, wrapper int, reap func()) (reached int) {
	_ = r.limitForks(id, 0) // best effort: without cgroups the loop must do alone
	if len(r.members(pidsGroup(id))) > many {
		reached = sweep(firstSweepTime, func() []int { reap(); return r.members(pidsGroup(id)) })
	}
	return reached + sweep(sweepTime, func() []int { reap(); return r.sessionMembers(id, wrapper) })
}

// sessionMembers returns the live processes of a session, wrapper excluded: what
// descends from the wrapper and what is in the session's cgroup.
func (r roots) sessionMembers(id string, wrapper int) []int {
	table := r.table()
	seen := map[int]bool{0: true, 1: true, wrapper: true}
	var live []int
	add := func(pids []int) {
		for _, pid := range pids {
			if p, ok := table[pid]; ok && !p.dead && !seen[pid] {
				seen[pid] = true
				live = append(live, pid)
			}
		}
	}
	if wrapper > 1 {
		add(descendants(table, wrapper))
	}
	add(r.members(pidsGroup(id)))
	return live
}
