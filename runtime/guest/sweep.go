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

// sweep kills what members returns until two readings in a row find nobody, and adds
// whom it reached to seen. members must not return the session's wrapper: killing
// that inside the loop sends the rest to PID 1, out of reach of the search.
func sweep(seen map[int]bool, members func() []int) {
	pause, empty := firstPause, 0
	for deadline := time.Now().Add(sweepTime); empty < 2 && time.Now().Before(deadline); {
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
}

// sweepSession kills everything of a session but its wrapper (0 when that is gone).
// The cgroup first: one write kills all of it, where a search of /proc beside a fork
// bomb lets the bomb outrun it. The search then finds who was moved elsewhere, and
// tells zombies, which the cgroup still lists. reap is called before each look.
func (r roots) sweepSession(id string, wrapper int, reap func()) (reached int) {
	seen := map[int]bool{}
	for _, pid := range r.members(sessionGroup(id)) {
		seen[pid] = true
	}
	r.killGroup(id)
	dead := 0
	for deadline := time.Now().Add(firstSweepTime); time.Now().Before(deadline); time.Sleep(firstPause) {
		reap()
		left := len(r.members(sessionGroup(id)))
		if left == 0 || left == dead {
			break // empty, or nothing left but what its parent has not reaped
		}
		dead = left
	}
	sweep(seen, func() []int { reap(); return r.sessionMembers(id, wrapper) })
	return len(seen)
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
	add(r.members(sessionGroup(id)))
	return live
}
