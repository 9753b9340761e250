package fusefs

import (
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		class                  route.Class
		pinned                 bool
		change, create, remove unix.Errno
	}{
		{route.Shared, false, 0, 0, 0},
		{route.Held, false, 0, 0, 0},
		{route.Transient, false, 0, 0, 0},
		{route.Shared, true, 0, 0, unix.EBUSY},
		{route.ReadOnly, false, unix.EROFS, unix.EROFS, unix.EBUSY},
		{route.StandIn, false, unix.EROFS, unix.EROFS, unix.EBUSY},
		{route.Absent, false, unix.EROFS, unix.EROFS, unix.EBUSY},
		{0, false, unix.EROFS, unix.EROFS, unix.EBUSY}, // a class nobody knows
		{99, false, unix.EROFS, unix.EROFS, unix.EBUSY},
	} {
		v := route.Verdict{Class: c.class, Pinned: c.pinned}
		for a, want := range map[act]unix.Errno{change: c.change, write: c.change, create: c.create, receive: c.create, remove: c.remove, replace: c.remove} {
			if got := guard(a, v); got != want {
				t.Errorf("act %d on class %d (pinned %v): %v, want %v", a, c.class, c.pinned, got, want)
			}
		}
	}
}

func TestGuardOfWhatGitTrusts(t *testing.T) {
	t.Parallel()
	vetted := route.Verdict{Class: route.Shared, Git: true, Vetted: true}
	kept := route.Verdict{Class: route.Shared, Git: true, Kept: true}
	for a, want := range map[act][2]unix.Errno{change: {0, 0}, write: {unix.EROFS, 0}, create: {unix.EROFS, 0}, receive: {0, 0}, remove: {0, unix.EBUSY}, replace: {0, 0}} {
		if got := guard(a, vetted); got != want[0] {
			t.Errorf("act %d on what is vetted: %v, want %v", a, got, want[0])
		}
		if got := guard(a, kept); got != want[1] {
			t.Errorf("act %d on what is kept: %v, want %v", a, got, want[1])
		}
	}
}

// TestNoFileHasNamesThatAreToldOfOtherwise: what is written under one of them would
// not be told of under the other.
func TestNoFileHasNamesThatAreToldOfOtherwise(t *testing.T) {
	t.Parallel()
	two, one := &unix.Statx_t{Mode: unix.S_IFREG, Nlink: 2}, &unix.Statx_t{Mode: unix.S_IFREG, Nlink: 1}
	for _, c := range []struct {
		a, b route.Mark
		want unix.Errno
	}{
		{route.Plain, route.Plain, 0}, {route.Runs, route.Runs, 0}, {route.Plain, route.Script, 0},
		{route.Plain, route.Runs, unix.EXDEV}, {route.Runs, route.Script, unix.EXDEV}, {route.Rules, route.Plain, unix.EXDEV},
	} {
		from, to := route.Verdict{Class: route.Shared, Mark: c.a}, route.Verdict{Class: route.Shared, Mark: c.b}
		if got := guardLink(from, host, to, host); got != c.want {
			t.Errorf("link from mark %d to %d: %v, want %v", c.a, c.b, got, c.want)
		}
		if got := guardNames(two, host, from, to); got != c.want {
			t.Errorf("rename from mark %d to %d: %v, want %v", c.a, c.b, got, c.want)
		}
		if got := guardNames(one, host, from, to); got != 0 {
			t.Errorf("rename of a file with one name: %v", got)
		}
	}
}

func TestNamesAreSingle(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "..", "a/b", "/", "a/", "a\x00b"} {
		if single(name) {
			t.Errorf("accepted %q", name)
		}
	}
	for _, name := range []string{"a", "...", ".a", "a b", "\xff"} {
		if !single(name) {
			t.Errorf("refused %q", name)
		}
	}
}
