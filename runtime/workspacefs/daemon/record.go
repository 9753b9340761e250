package daemon

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// recorder hears what the sandbox did (fusefs.Events). It writes the journal and passes
// on what others have to act on; it never waits for them.
type recorder struct {
	host    tree
	journal *journal.Journal // nil for a git directory outside the workspace
	rules   *follower
	mounts  *shower // nil without
	rename  func(path string) string
}

// Changing implements fusefs.Events.
func (e *recorder) Changing(path, to string) (done func(), err error) {
	if to != "" {
		return e.rules.moving(e.rename(path), e.rename(to))
	}
	return e.rules.changing(e.rename(path))
}

func (e *recorder) Created(path string, v route.Verdict) { e.note(path, "", journal.Created, v) }
func (e *recorder) Wrote(path string, v route.Verdict)   { e.note(path, "", journal.Changed, v) }
func (e *recorder) Removed(path string, v route.Verdict) { e.note(path, "", journal.Removed, v) }

func (e *recorder) Renamed(from, to string, v route.Verdict) {
	e.note(to, from, journal.Renamed, v)
}

// note records one change of the host's files. What git keeps of itself changes with
// every command, and tells nobody anything.
func (e *recorder) note(path, from string, kind journal.Kind, v route.Verdict) {
	if v.Class != route.Shared {
		return
	}
	if e.journal == nil || v.Git && v.Mark == route.Plain {
		return
	}
	directory := kind != journal.Changed && kind != journal.Removed && e.host.look(path) == route.Dir
	e.journal.Note(journal.Change{Path: path, Kind: kind, From: from, Directory: directory, Mark: v.Mark, Time: time.Now()})
}

func (e *recorder) MadeHeldDir(path string, dir int) {
	if e.mounts == nil {
		return
	}
	fd, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return // it is served without
	}
	e.mounts.add(path, os.NewFile(uintptr(fd), path))
}
