package route

// Class says where a name lives and what the sandbox may do with it.
type Class uint8

// The classes. Their numbers leave the process in the journal.
const (
	// Shared is the host's own file, read and written through.
	Shared Class = 1
	// ReadOnly is the host's own file; writing gives EROFS, removing, renaming and
	// renaming an ancestor give EBUSY.
	ReadOnly Class = 2
	// Absent is no such name, whatever the host has; making it gives EROFS.
	Absent Class = 3
	// Held lives in Domain storage and persists there; the host's entry of that
	// name, if any, is not shown.
	Held Class = 4
	// Transient lives in the generation's memory and ends with it; the host's entry
	// is not shown.
	Transient Class = 5
	// StandIn is an empty read-only file in place of the host's.
	StandIn Class = 6
)

// Kind is what an entry is.
type Kind uint8

// The kinds a router tells apart.
const (
	None    Kind = 0 // no entry
	File    Kind = 1
	Dir     Kind = 2
	Symlink Kind = 3
	Other   Kind = 4 // FIFO, socket, device
)

// Mark says why a write to a shared file is worth telling the developer, beyond
// having happened. Marks leave the process in the journal.
type Mark uint8

// The marks.
const (
	Plain  Mark = 0
	Runs   Mark = 1 // of a kind host tools execute or obey: CI workflows, tracked editor tasks, agent hooks
	Rules  Mark = 2 // changes what is ignored: .gitignore and its like
	Script Mark = 3 // executable, or a build file: what "runs project code" is about
)

// Names is what lies under one name when a decision is asked for.
type Names struct {
	// Host is what the host has under the name.
	Host Kind
	// Own is what Domain storage has under the name, or, when something is about to
	// be made or renamed to here, what that is.
	Own Kind
}

// Verdict is a decision about one name.
type Verdict struct {
	Class Class
	Mark  Mark
	// Git says that the name lies in a git directory: no link, FIFO, socket or device
	// can be made there, and nothing there is a stand-in.
	Git bool
	// Pinned says that the directory is, or lies above, something protected: it
	// cannot be renamed or removed (EBUSY) although its class allows writing in it.
	Pinned bool
	// Vetted says that the host's git trusts what the file says: it is never written or
	// made in place (EROFS), and a rename onto it needs Policy.Check to accept the content
	// (EROFS), with every descriptor that could still write it refused from then on.
	Vetted bool
	// Kept says that the file may be replaced by a rename, and its name never be taken
	// away (EBUSY): without it a repository of the host's would be none.
	Kept bool
	// Rule says that the rules are read from the file: it is told of before the sandbox
	// changes it, and it has no second name.
	Rule bool
	// Why names the rule in a few words, for status, errors and tests: "git
	// configuration", "ignored by git", "untracked secret".
	Why string
}

// Directory is what a Router knows of one directory of the workspace. It is opaque
// and immutable; a file system keeps one per directory node. One that a change of
// rules has outdated still answers, by the rules in force now.
type Directory interface {
	// Path is relative to the workspace, "" for its root.
	Path() string
}

// Look tells what the host has under a name of the directory being entered, for
// the few names that make a directory special.
type Look func(name string) Kind

// Router decides. Its methods may be called from many goroutines.
type Router interface {
	// Root is the workspace's own directory.
	Root() Directory
	// Name decides about one name of dir.
	Name(dir Directory, name string, found Names) Verdict
	// Enter returns the directory under name, which has the given verdict. look may be
	// called during Enter only.
	Enter(dir Directory, name string, verdict Verdict, look Look) Directory
	// Generation grows whenever an answer given before may be different now.
	Generation() uint64
}

// Changes is told what happened in the workspace, so that rules follow. A change by
// the sandbox is told before a later one by the host in the same file: what the
// sandbox wrote would otherwise pass for the host's. When the sandbox has moved a
// directory, every rule file below is told, under the old path and the new.
type Changes interface {
	// HostChanged says that somebody on the host changed path; read gives its content
	// now (fs.ErrNotExist when it is gone). It reports whether any answer changed.
	HostChanged(path string, read func(limit int64) ([]byte, error)) (outdated bool, err error)
	// GuestChanged is the same for a change the sandbox made. What it changes can hide
	// more and never reveals what was hidden.
	GuestChanged(path string, read func(limit int64) ([]byte, error)) (outdated bool, err error)
}
