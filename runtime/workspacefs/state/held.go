package state

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/safefs"
	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// Class is what something in Domain storage is. Its value is in `lazaret state held
// --json`.
type Class string

// The classes.
const (
	GitDirectory Class = "git directory"  // made inside by git init, git clone
	GitPointer   Class = "git pointer"    // a .git file: a worktree or submodule made inside
	Worktree     Class = "worktree entry" // git's record of a worktree, in a git directory of the host
	GitState     Class = "git state"      // an unfinished rebase or the like
	Secret       Class = "secret"         // named like a key or password
	Waiting      Class = "waits"          // host tools may run it, or the host had no such name
	RuleFile     Class = "rule file"      // shared, but what it reveals is not in force
	Special      Class = "special file"   // a FIFO, socket or device: never accepted
	Ignored      Class = "ignored by git" // only in Report.Ignored
	Unreadable   Class = "cannot be read" // belongs to another user of the sandbox
	Aside        Class = "half accepted"  // what Recover puts back
	tooDeep      Class = "nested too deeply"
)

// Found is one thing that is held.
type Found struct {
	Path      string
	Class     Class
	Directory bool
	Bytes     int64
	Entries   int64 // below a directory
	// More says that Bytes and Entries stopped at the bound of the walk.
	More bool
	// Acceptable says that `lazaret state accept` takes it, if it withstands the vetting.
	Acceptable bool
}

// Report is all that is held. Both lists are ordered by path.
type Report struct {
	Found   []Found
	Ignored []Found // each ignored directory or file, topmost
	// Unread counts places that could not be looked into: they belong to another user of
	// the sandbox.
	Unread int64
	// More says that the walk stopped at its bound.
	More bool
}

// HeldOptions is what a walk has to know.
type HeldOptions struct {
	Secrets []string // patterns of file names (workspace.secrets)
	Global  []byte   // the developer's own ignore rules, may be nil
	// MaxEntries bounds the walk; 0 is 1,000,000.
	MaxEntries int64
	// Progress is called now and then with the entries seen; it may be nil.
	Progress func(entries int64)
}

const (
	defaultEntries = 1_000_000
	progressEvery  = 4096
	maxRules       = 1 << 20 // bytes of one rule file
)

// Held looks at everything in Domain storage.
func Held(ctx context.Context, p Place, o HeldOptions) (Report, error) {
	if o.MaxEntries == 0 {
		o.MaxEntries = defaultEntries
	}
	w := walk{ctx: ctx, place: p, options: o}
	if err := w.rules.SetGlobal(o.Global); err != nil {
		w.rules = ignore.Rules{}
	}
	if data, err := readBelow(p.Tree, ".git/info/exclude", maxRules); err == nil {
		_ = w.rules.SetExclude(data) // rules beyond the limits ignore nothing
	}
	held, err := openBelow(p.Store, heldName, dirFlags)
	if err == nil {
		defer held.Close()
		err = w.directory(held, "", 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil && !errors.Is(err, errBound) {
		return w.report, err
	}
	w.aside()
	w.ruleFiles()
	slices.SortFunc(w.report.Found, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
	slices.SortFunc(w.report.Ignored, func(a, b Found) int { return strings.Compare(a.Path, b.Path) })
	return w.report, nil
}

var errBound = errors.New("the walk has reached its bound")

type walk struct {
	ctx     context.Context
	place   Place
	options HeldOptions
	rules   ignore.Rules
	report  Report
	seen    int64
}

// step counts one entry. Errors: errBound, and the context's.
func (w *walk) step() error {
	w.seen++
	if w.seen%progressEvery == 0 {
		if w.options.Progress != nil {
			w.options.Progress(w.seen)
		}
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	if w.seen > w.options.MaxEntries {
		w.report.More = true
		return errBound
	}
	return nil
}

// directory walks dir, whose path is at, one name after the other.
func (w *walk) directory(dir *os.File, at string, depth int) error {
	list, err := names(dir)
	if err != nil {
		w.report.Unread++
		return nil
	}
	if data, err := readBelow(w.place.Tree, join(at, ".gitignore"), maxRules); err == nil {
		_ = w.rules.Set(at, data) // rules beyond the limits ignore nothing
		defer w.rules.Remove(at)
	}
	slices.Sort(list)
	for _, name := range list {
		if err := w.step(); err != nil {
			return err
		}
		if err := w.name(dir, at, name, depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) name(dir *os.File, at, name string, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil // gone meanwhile: a sandbox may be running
	}
	f := Found{Path: join(at, name), Directory: kindOf(st) == unix.S_IFDIR, Bytes: st.Size}
	f.Class = w.classify(f.Path, name, st)
	switch {
	case f.Class == "" && depth >= maxDepth:
		f.Class = tooDeep
	case f.Class == "":
		return w.below(dir, f, name, func(sub *os.File) error { return w.directory(sub, f.Path, depth+1) })
	case f.Class == Worktree || f.Class == GitState: // .git of the host: what is in it is told
		return w.inHostGit(dir, f, name)
	}
	f.Acceptable = acceptable(f) && kindOf(st) != unix.S_IFLNK
	err := w.measure(dir, &f, name)
	if f.Class == Ignored {
		w.report.Ignored = append(w.report.Ignored, f)
	} else {
		w.report.Found = append(w.report.Found, f)
	}
	return err
}

func acceptable(f Found) bool {
	switch f.Class {
	case GitDirectory, Secret, Waiting, Ignored:
		return true
	}
	return false
}

// classify says what stands at path, or "" for a directory that has to be walked.
func (w *walk) classify(at, name string, st unix.Stat_t) Class {
	isDir := kindOf(st) == unix.S_IFDIR
	switch {
	case name == ".git" && isDir && w.hostHasDirectory(at):
		return GitState
	case name == ".git" && isDir:
		return GitDirectory
	case name == ".git":
		return GitPointer
	case !isDir && kindOf(st) != unix.S_IFREG && kindOf(st) != unix.S_IFLNK:
		return Special
	case !isDir && matches(w.options.Secrets, name):
		return Secret
	case w.rules.Ignored(at, isDir):
		return Ignored
	case isDir:
		return ""
	}
	return Waiting
}

func (w *walk) hostHasDirectory(at string) bool {
	st, err := statBelow(w.place.Tree, at)
	return err == nil && kindOf(st) == unix.S_IFDIR
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return err == nil && ok
	})
}

// inHostGit tells the parts of a git directory of the host that are held.
func (w *walk) inHostGit(dir *os.File, f Found, name string) error {
	return w.below(dir, f, name, func(sub *os.File) error {
		list, err := names(sub)
		if err != nil {
			w.report.Unread++
			return nil
		}
		for _, part := range list {
			if err := w.step(); err != nil {
				return err
			}
			var st unix.Stat_t
			if unix.Fstatat(int(sub.Fd()), part, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			g := Found{Path: join(f.Path, part), Class: GitState, Directory: kindOf(st) == unix.S_IFDIR, Bytes: st.Size}
			if part == "worktrees" {
				g.Class = Worktree
			}
			if err := w.measure(sub, &g, part); err != nil {
				return err
			}
			w.report.Found = append(w.report.Found, g)
		}
		return nil
	})
}

// below calls do with the open directory name of dir. One that cannot be opened is
// counted.
func (w *walk) below(dir *os.File, f Found, name string, do func(*os.File) error) error {
	sub, err := openBelow(dir, name, dirFlags)
	if errors.Is(err, fs.ErrPermission) {
		w.report.Unread++
		f.Class = Unreadable
		w.report.Found = append(w.report.Found, f)
		return nil
	}
	if err != nil {
		return nil // swapped or gone meanwhile
	}
	defer sub.Close()
	return do(sub)
}

// measure adds up what lies below a directory, and leaves what else there is as it is.
func (w *walk) measure(dir *os.File, f *Found, name string) error {
	if !f.Directory {
		return nil
	}
	f.Bytes = 0
	err := w.sum(dir, f, name, 0)
	f.More = errors.Is(err, errBound)
	return err
}

func (w *walk) sum(dir *os.File, f *Found, name string, depth int) error {
	sub, err := openBelow(dir, name, dirFlags)
	if err != nil || depth >= maxDepth {
		w.report.Unread++
		if err == nil {
			sub.Close()
		}
		return nil
	}
	defer sub.Close()
	list, err := names(sub)
	if err != nil {
		w.report.Unread++
		return nil
	}
	for _, entry := range list {
		if err := w.step(); err != nil {
			return err
		}
		var st unix.Stat_t
		if unix.Fstatat(int(sub.Fd()), entry, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
			continue
		}
		f.Entries++
		if kindOf(st) == unix.S_IFREG {
			f.Bytes += min(st.Size, st.Blocks*512) // holes hold nothing
		}
		if kindOf(st) == unix.S_IFDIR {
			if err := w.sum(sub, f, entry, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// aside tells what an interrupted acceptance has left.
func (w *walk) aside() {
	list, err := asides(w.place.Store)
	if err != nil {
		return // there is none, as always but after a crash
	}
	for _, a := range list {
		w.report.Found = append(w.report.Found, Found{Path: a.path, Class: Aside})
	}
}

// ruleFiles tells the rule files the sandbox wrote last.
func (w *walk) ruleFiles() {
	pins, err := journal.OpenPins(w.place.Store)
	if err != nil {
		return // what reveals is then not in force either
	}
	for at, pin := range pins.All() {
		data, err := readBelow(w.place.Tree, at, maxRules)
		if err == nil && pin.Awaits(data) || errors.Is(err, fs.ErrNotExist) && pin.AwaitsRemoval(at) {
			w.report.Found = append(w.report.Found, Found{Path: at, Class: RuleFile, Bytes: int64(len(data)), Acceptable: true})
		}
	}
}

// readBelow reads a regular file below dir whole.
func readBelow(dir *os.File, at string, limit int64) ([]byte, error) {
	parent, name := split(at)
	d, err := openBelow(dir, parent, dirFlags)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return safefs.ReadAt(d, name, limit)
}
