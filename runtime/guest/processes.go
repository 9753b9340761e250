package guest

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// roots is where the guest's two system trees lie; tests put others in place.
type roots struct {
	proc, cgroup string
}

func systemRoots() roots { return roots{proc: "/proc", cgroup: "/sys/fs/cgroup"} }

// process is one line of the process table.
type process struct {
	pid, parent, group int
	dead               bool // a zombie: only its parent still sees it
}

// table reads the process table. It is not a snapshot: who forks fast enough can
// stay out of one reading, so nothing may be concluded from a single empty one.
func (r roots) table() map[int]process {
	entries, err := os.ReadDir(r.proc)
	if err != nil {
		return nil
	}
	table := make(map[int]process, len(entries))
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join(r.proc, entry.Name(), "stat"))
		if err != nil {
			continue // gone meanwhile
		}
		if p, ok := parseStat(stat); ok && p.pid == pid {
			table[pid] = p
		}
	}
	return table
}

// parseStat reads a line of proc(5)'s stat. The name in brackets is the process's
// own choice and may hold brackets and blanks, so fields count from its end.
func parseStat(line []byte) (process, bool) {
	open, end := bytes.IndexByte(line, '('), bytes.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return process{}, false
	}
	fields := strings.Fields(string(line[end+1:]))
	const state, parent, group, threads = 0, 1, 2, 17
	if len(fields) <= threads {
		return process{}, false
	}
	pid, err1 := strconv.Atoi(strings.TrimSpace(string(line[:open])))
	ppid, err2 := strconv.Atoi(fields[parent])
	pgrp, err3 := strconv.Atoi(fields[group])
	count, err4 := strconv.Atoi(fields[threads])
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		return process{}, false
	}
	// A process whose first thread has ended reads as a zombie while others run.
	dead := fields[state] == "X" || fields[state] == "Z" && count <= 1
	return process{pid: pid, parent: ppid, group: pgrp, dead: dead}, true
}

// descendants returns the processes that come of root, without root.
func descendants(table map[int]process, root int) []int {
	children := make(map[int][]int, len(table))
	for pid, p := range table {
		if pid != p.parent {
			children[p.parent] = append(children[p.parent], pid)
		}
	}
	var found []int
	for queue := []int{root}; len(queue) > 0; queue = queue[1:] {
		next := children[queue[0]]
		delete(children, queue[0]) // a table read while it changes may hold a cycle
		found = append(found, next...)
		queue = append(queue, next...)
	}
	return found
}

// commandLine returns the arguments a process was started with.
func (r roots) commandLine(pid int) []string {
	b, err := os.ReadFile(filepath.Join(r.proc, strconv.Itoa(pid), "cmdline"))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}
