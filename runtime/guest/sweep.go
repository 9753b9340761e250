package guest

import (
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepTime  = 5 * time.Second
	firstPause = 500 * time.Microsecond
	longPause  = 10 * time.Millisecond
)

// sweep kills what members returns until two readings in a row find nobody, and
// returns how many processes it reached. members must not return the session's
// wrapper: killing that inside the loop sends the rest to PID 1, out of reach of
// the search.
func (r roots) sweep(members func() []int) (reached int) {
	seen := map[int]bool{}
	pause, empty := firstPause, 0
	for deadline := time.Now().Add(sweepTime); time.Now().Before(deadline); {
		pids := members()
		if len(pids) == 0 {
			if empty++; empty == 2 {
				break
			}
		} else {
			empty = 0
		}
		for _, pid := range pids {
			if seen[pid] {
				// It lives through a SIGKILL or took over a number, so others fork
				// faster than they die: take that away first.
				r.stopForking(pid)
			}
			seen[pid] = true
			_ = unix.Kill(pid, unix.SIGKILL)
		}
		if len(pids) > 8 {
			for _, pid := range members() {
				r.stopForking(pid)
			}
		}
		time.Sleep(pause)
		pause = min(2*pause, longPause)
	}
	return len(seen)
}

// sessionMembers returns the live processes of a session, wrapper excluded: what
// descends from the wrapper (0 when it is gone) and what is in the session's cgroup.
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
	add(r.members(id))
	return live
}
