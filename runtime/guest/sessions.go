package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// wrapperTime is how long a wrapper may take to end once nothing of its session
// is left, before it is killed as well.
const wrapperTime = time.Second

// relayBase maps signals for a session's foreground group to the real-time signals
// its wrapper takes them by: only the wrapper can ask its terminal which group that
// is (gVisor's stat has no tpgid). Signal n is sent as relayBase+n; 34 itself is the
// C library's.
const (
	relayBase = 34
	relayLast = 30
)

// wrapperOf finds the session's wrapper, 0 when there is none.
func (r roots) wrapperOf(id string) int {
	if pids := r.members(wrapperGroup(id)); len(pids) > 0 {
		return pids[0]
	}
	// No cgroups here, or it was started this moment and has not entered its own.
	return r.searchWrapper(id)
}

// searchWrapper finds the wrapper by its command line, which any guest process can
// wear; the wrapper's file at least it must share.
func (r roots) searchWrapper(id string) int {
	self, err := os.Readlink(filepath.Join(r.proc, "self", "exe"))
	if err != nil {
		return 0
	}
	table := r.table()
	var matches []int
	for pid, p := range table {
		if p.dead || pid == 1 {
			continue
		}
		args := r.commandLine(pid)
		if len(args) < 3 || args[1] != control.ModeSession || args[2] != "--id="+id {
			continue
		}
		exe, err := os.Readlink(filepath.Join(r.proc, strconv.Itoa(pid), "exe"))
		if err == nil && exe == self {
			matches = append(matches, pid)
		}
	}
	for _, pid := range matches {
		// Between fork and exec the command looks like its wrapper: take the parent.
		child := false
		for _, other := range matches {
			child = child || table[pid].parent == other
		}
		if !child {
			return pid
		}
	}
	return 0
}

// endSession ends every process of the session, its wrapper last.
func (i *initProcess) endSession(name string) control.Reply {
	id, err := domain.ParseSessionID(name)
	if err != nil {
		return control.Reply{Code: control.CodeInvalid, Message: "malformed session id"}
	}
	wrapper := i.roots.wrapperOf(string(id))
	if wrapper == 0 && !i.roots.hasSession(string(id)) {
		return control.Reply{Code: control.CodeNotFound} // it ended as sessions do
	}
	reached := i.roots.sweepSession(string(id), wrapper, func() {})
	if wrapper != 0 {
		i.endWrapper(string(id), wrapper)
		reached += 1 + i.roots.sweepSession(string(id), 0, func() {})
	}
	i.roots.dropSession(string(id))
	if reached == 0 {
		return control.Reply{Code: control.CodeNotFound}
	}
	return control.Reply{Count: uint32(reached)}
}

// endWrapper waits for the wrapper to follow its command, and kills it if it does not.
func (i *initProcess) endWrapper(id string, pid int) {
	for deadline := time.Now().Add(wrapperTime); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		args := i.roots.commandLine(pid) // a zombie has none
		if len(args) < 3 || args[2] != "--id="+id {
			return
		}
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

func (i *initProcess) signalSession(name string, sig unix.Signal) error {
	id, err := domain.ParseSessionID(name)
	if err != nil {
		return err
	}
	if sig < 1 || sig > relayLast {
		return fmt.Errorf("signal %d cannot be relayed", int(sig))
	}
	wrapper := i.roots.wrapperOf(string(id))
	if wrapper == 0 {
		return control.ErrNotFound
	}
	if err := unix.Kill(wrapper, relayBase+sig); err != nil {
		if errors.Is(err, unix.ESRCH) {
			return control.ErrNotFound
		}
		return fmt.Errorf("signal the wrapper: %w", err)
	}
	return nil
}

func (i *initProcess) stats() control.Stats {
	stats := control.Stats{
		MemoryBytes:  i.roots.reading("", "memory.current", ""),
		CPUMicros:    i.roots.reading("", "cpu.stat", "usage_usec "),
		ProcessLimit: i.roots.hasCgroups(),
	}
	// Names only: opening every process is slow when there are many, which is when
	// someone asks.
	entries, _ := os.ReadDir(i.roots.proc)
	for _, entry := range entries {
		if _, err := strconv.Atoi(entry.Name()); err == nil {
			stats.Processes++
		}
	}
	const most = 256
	for _, id := range i.roots.sessions() {
		if len(stats.Sessions) == most {
			break
		}
		group := sessionGroup(id)
		stats.Sessions = append(stats.Sessions, control.SessionStats{
			Session:     id,
			Processes:   uint32(len(i.roots.members(group))),
			CPUMicros:   i.roots.reading(group, "cpu.stat", "usage_usec "),
			MemoryBytes: i.roots.reading(group, "memory.current", ""),
		})
	}
	return stats
}
