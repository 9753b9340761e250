package gitrules

// Place is what a directory is to git.
type Place uint8

// The places.
const (
	Outside     Place = iota // no part of a git directory
	Main                     // a git directory: .git, a bare repository, a module
	Linked                   // worktrees/<n>: what a linked work tree has of its own
	Objects                  // objects, and the temporary object directories in it
	ObjectsInfo              // objects/info
	Refs                     // refs and everything below
	Info                     // info
	Free                     // any name may be made: logs, packs, loose objects
	Aside                    // held in Domain storage as a whole
	Worktrees                // worktrees
	Modules                  // modules, and the parts of a module's name before the last "/"
	Sealed                   // as the host has it: hooks, and everything unknown
	Logs                     // logs

	// Those of a repository of whose work trees the workspace is a linked one.
	Common        // Main without what its main work tree has of its own
	CommonInfo    // info
	CommonRefs    // refs
	CommonLogs    // logs
	CommonLogRefs // logs/refs
	OtherTrees    // worktrees; the workspace's own entry is to be judged as in Worktrees
)

// Class says where a name lives. See route.Class, which has two more.
type Class uint8

// The classes.
const (
	Shared   Class = 1
	ReadOnly Class = 2
	Absent   Class = 3
	Held     Class = 4
)

// Kind is what an entry is. Its values are those of route.Kind.
type Kind uint8

// The kinds.
const (
	None    Kind = 0
	File    Kind = 1
	Dir     Kind = 2
	Symlink Kind = 3
	Other   Kind = 4
)

// Decision is what the rules say of one name.
type Decision struct {
	Class Class
	// Pinned says that the directory cannot be renamed or removed.
	Pinned bool
	// Vetted says that the host's git trusts the content more than it should: the file is
	// never written in place, and replaced only by what Vet accepts.
	Vetted bool
	// Kept says that the file may be replaced and not removed.
	Kept bool
	// Why names the rule in a few words.
	Why string
}

// Enter returns the place of the directory name in a directory of the given place,
// when Decide gave it class. look tells what the host has in it; it is asked in
// Modules only.
func Enter(in Place, name string, class Class, look func(string) Kind) Place {
	switch {
	case class == Held:
		return Aside
	case class != Shared:
		return Sealed
	}
	switch in {
	case Worktrees:
		return Linked
	case Modules:
		if IsRepository(look) {
			return Main
		}
		return Modules
	}
	return find(in, name, Dir).place
}

// IsRepository reports whether a directory is what git takes for a git directory:
// one with HEAD, objects and refs, or with HEAD and a pointer to where those are.
func IsRepository(look func(string) Kind) bool {
	if look("HEAD") == None {
		return false
	}
	return look("objects") != None && look("refs") != None || look("commondir") != None
}

// Completes reports whether an entry of that name could make a directory a git
// directory. The sandbox must not make one next to the host's others.
func Completes(name string) bool {
	switch name {
	case "HEAD", "objects", "refs", "commondir":
		return true
	}
	return false
}
