package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// The guest's cgroups, in the unified hierarchy (runsc --in-sandbox-cgroup=v2), two
// for each session:
//
//	lazaret-<id>           its processes; pids.max is the limit
//	lazaret-<id>.wrapper   its wrapper alone: found by one read, where a search of
//	                       /proc takes seconds beside a fork bomb
//
// The older hierarchies will not do: with several of them gVisor charges a new task
// to one at random, so pids.max is felt by one fork in eight; and only the unified
// one has cgroup.kill, which no fork outruns.
const (
	groupPrefix   = "lazaret-"
	wrapperSuffix = ".wrapper"

	dropTime = 100 * time.Millisecond
)

func sessionGroup(id string) string { return groupPrefix + id }

func wrapperGroup(id string) string { return groupPrefix + id + wrapperSuffix }

// hasCgroups says whether this guest has what is drawn above.
func (r roots) hasCgroups() bool {
	b, err := os.ReadFile(filepath.Join(r.cgroup, "cgroup.subtree_control"))
	return err == nil && strings.Contains(" "+strings.TrimSpace(string(b))+" ", " pids ")
}

// enterWrapper moves the calling process, the session's wrapper, into its cgroup,
// and makes the session's, with its bound on tasks (0 is none). The returned
// directory is where the command is to be born.
func (r roots) enterWrapper(id string, limit uint32) (session *os.File, err error) {
	for _, group := range []string{wrapperGroup(id), sessionGroup(id)} {
		if err := os.Mkdir(filepath.Join(r.cgroup, group), 0o755); err != nil && !os.IsExist(err) {
			return nil, fmt.Errorf("make guest cgroup %q: %w", group, err)
		}
	}
	if err := r.writeGroup(wrapperGroup(id), "cgroup.procs", "0"); err != nil {
		return nil, err
	}
	if limit != 0 {
		if err := r.writeGroup(sessionGroup(id), "pids.max", strconv.FormatUint(uint64(limit), 10)); err != nil {
			return nil, err
		}
	}
	session, err = os.Open(filepath.Join(r.cgroup, sessionGroup(id)))
	if err != nil {
		return nil, fmt.Errorf("open guest cgroup: %w", err)
	}
	return session, nil
}

// hasSession says whether the session has its cgroup. Only an empty one can be
// removed, so without it nothing of a session without a wrapper is left to find.
func (r roots) hasSession(id string) bool {
	_, err := os.Stat(filepath.Join(r.cgroup, sessionGroup(id)))
	return err == nil
}

// members returns the processes in one cgroup, none where it does not exist.
func (r roots) members(group string) []int {
	b, err := os.ReadFile(filepath.Join(r.cgroup, group, "cgroup.procs"))
	if err != nil {
		return nil
	}
	var pids []int
	for line := range strings.FieldsSeq(string(b)) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killGroup kills all processes of the session's cgroup, and any they fork meanwhile.
func (r roots) killGroup(id string) {
	// Best effort: without cgroups the search must do alone.
	_ = r.writeGroup(sessionGroup(id), "cgroup.kill", "1")
}

// dropSession removes the session's cgroups, which have to be empty: it waits a
// moment for the last of the dead to be reaped. The wrapper calls it last, and
// leaves its own first.
func (r roots) dropSession(id string) {
	for _, pid := range r.members(wrapperGroup(id)) {
		if pid == os.Getpid() {
			_ = r.writeGroup("", "cgroup.procs", "0")
		}
	}
	for _, group := range []string{sessionGroup(id), wrapperGroup(id)} {
		path := filepath.Join(r.cgroup, group)
		for deadline := time.Now().Add(dropTime); time.Now().Before(deadline); time.Sleep(firstPause) {
			if err := os.Remove(path); !errors.Is(err, unix.EBUSY) {
				break
			}
		}
	}
}

// sessions returns the ids of the sessions that have a cgroup.
func (r roots) sessions() []string {
	entries, err := os.ReadDir(r.cgroup)
	if err != nil {
		return nil
	}
	var ids []string
	for _, entry := range entries {
		id, ok := strings.CutPrefix(entry.Name(), groupPrefix)
		if ok && entry.IsDir() && !strings.HasSuffix(id, wrapperSuffix) {
			ids = append(ids, id)
		}
	}
	return ids
}

// reading returns a number of a cgroup file, 0 where there is none: the first, or
// the one after key in a file of several.
func (r roots) reading(group, file, key string) uint64 {
	b, err := os.ReadFile(filepath.Join(r.cgroup, group, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), key)
		if ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// writeGroup writes one control file. It never creates one: outside a cgroup tree
// that would leave a plain file behind.
func (r roots) writeGroup(group, file, value string) error {
	f, err := os.OpenFile(filepath.Join(r.cgroup, group, file), os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("open guest cgroup: %w", err)
	}
	defer f.Close()
	if _, err := f.WriteString(value); err != nil {
		return fmt.Errorf("write guest cgroup %q: %w", group, err)
	}
	return nil
}
