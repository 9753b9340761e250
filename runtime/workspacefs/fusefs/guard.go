package fusefs

import (
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// act is what the sandbox wants to do with a name.
type act uint8

const (
	change  act = 1 // change attributes
	write   act = 2 // change what a file says
	create  act = 3 // make something under the name
	receive act = 4 // bring something there that exists
	remove  act = 5 // take the name away
	replace act = 6 // put something over what is there
)

// guard says with which error an act on a name is refused, 0 when it is not. It is
// the one place where a decision becomes an error: with it answering 0, the
// refusals of the tests must fail.
func guard(a act, verdict route.Verdict) unix.Errno {
	writable := false
	switch verdict.Class {
	case route.Shared, route.Held, route.Transient:
		writable = true
	}
	switch {
	case (a == remove || a == replace) && (verdict.Pinned || !writable), a == remove && verdict.Kept:
		return unix.EBUSY
	case !writable, verdict.Vetted && (a == write || a == create):
		return unix.EROFS
	}
	return 0
}

// guardKind says with which error it is refused to make something of the given kind,
// by its type bits, under a name.
func guardKind(mode uint32, verdict route.Verdict) unix.Errno {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG, unix.S_IFDIR:
		return 0
	case unix.S_IFLNK:
		if verdict.Git {
			return unix.EROFS
		}
		return 0
	case unix.S_IFIFO:
		if verdict.Class == route.Held || verdict.Class == route.Transient {
			return 0
		}
	}
	if verdict.Git {
		return unix.EROFS
	}
	return unix.EPERM
}

// guardMove says with which error it is refused to bring something that exists, of the
// given kind, to a name.
func guardMove(kind uint32, verdict route.Verdict) unix.Errno {
	if errno := guard(receive, verdict); errno != 0 {
		return errno
	}
	if verdict.Git && kind != unix.S_IFREG && kind != unix.S_IFDIR {
		return unix.EROFS
	}
	return 0
}

// guardLinks refuses to change a host file that has names nobody knows: more than the
// sandbox gave it, or any at all when the sandbox has removed the last it knew.
func (fs *FS) guardLinks(n *node, st *unix.Statx_t, removed bool) unix.Errno {
	if n.key.backend != host || uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		return 0
	}
	if removed && st.Nlink > 0 {
		return unix.EROFS
	}
	if st.Nlink <= 1 {
		return 0
	}
	if fs.links.own(n.key.identity, st.Nlink) {
		return 0
	}
	return unix.EROFS
}

// guardMode refuses to make a program of the host's that runs with its owner's
// rights for everyone.
func guardMode(mode uint32, b backend) unix.Errno {
	if b == host && mode&unix.S_IFMT == unix.S_IFREG && mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
		return unix.EPERM
	}
	return 0
}

// refusal turns an errno into an error, nil for none.
func refusal(errno unix.Errno) error {
	if errno == 0 {
		return nil
	}
	return errno
}

// guardLink refuses a second name for what is decided otherwise there than here.
func guardLink(from route.Verdict, b backend, to route.Verdict, c backend) unix.Errno {
	if from.Git || to.Git || from.Vetted || to.Vetted {
		return unix.EROFS
	}
	if errno := guard(change, from); errno != 0 {
		return errno
	}
	if from.Class != to.Class || b != c || from.Rule || to.Rule || disguises(from, to) {
		return unix.EXDEV
	}
	return 0
}

// guardNames refuses to bring a file of the host's with other names to a name that
// is told of otherwise.
func guardNames(st *unix.Statx_t, b backend, was, becomes route.Verdict) unix.Errno {
	if b != host || uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG || st.Nlink <= 1 {
		return 0
	}
	if becomes.Rule || disguises(was, becomes) {
		return unix.EXDEV
	}
	return 0
}

// disguises says that a change made under one of two names of a file would hide what
// the developer has to hear of the other.
func disguises(one, other route.Verdict) bool {
	if one.Mark == other.Mark {
		return false
	}
	for _, v := range []route.Verdict{one, other} {
		if v.Mark == route.Runs || v.Mark == route.Rules {
			return true
		}
	}
	return false
}
