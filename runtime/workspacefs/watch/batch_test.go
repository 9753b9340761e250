package watch_test

import (
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/workspacefs/watch"
)

// record is a Sink that keeps everything.
type record struct {
	batches   int
	events    []watch.Event
	overflows int
}

func (r *record) Changed(events []watch.Event) {
	r.batches++
	r.events = append(r.events, events...)
}
func (r *record) Overflow() { r.overflows++ }

const self = 77

func feed(t *testing.T, w *watch.Watcher, events ...[]byte) *record {
	t.Helper()
	got := &record{}
	if err := w.Feed(join(events...), got); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestEventsOfOneNameAreMerged(t *testing.T) {
	t.Parallel()
	other := unix.NewFileHandle(1, []byte{8, 7, 6, 5, 4, 3, 2, 1})
	w := watch.Unattached(self)
	w.Name(fsid, handle, 5)
	w.Name(fsid, other, 6)
	w.Name(fsid, other, 1<<63)
	if keys := slices.Sorted(slices.Values(w.Keys())); !slices.Equal(keys, []uint64{5, 6, 1 << 63}) {
		t.Errorf("keys %v", keys)
	}
	got := feed(t, w,
		event(unix.FAN_CREATE, 0, named(handle, "a")),
		event(unix.FAN_CREATE, 0, named(other, "a")),
		event(unix.FAN_MODIFY, 0, named(handle, "a")),
		event(unix.FAN_CLOSE_WRITE, 0, named(handle, "a")),
		event(unix.FAN_MOVED_FROM|unix.FAN_ONDIR, 0, named(handle, "b")),
		event(unix.FAN_CREATE, 0, named(unix.NewFileHandle(2, handle.Bytes()), "unknown")),
	)
	want := []watch.Event{
		{Key: 5, Name: "a", What: watch.Created | watch.Content},
		{Key: 6, Name: "a", What: watch.Created},
		{Key: 1 << 63, Name: "a", What: watch.Created},
		{Key: 5, Name: "b", What: watch.Removed | watch.Directory},
	}
	if got.batches != 1 || got.overflows != 0 || !slices.Equal(got.events, want) {
		t.Errorf("%+v", got)
	}
}

func TestOwnEventsAreDropped(t *testing.T) {
	t.Parallel()
	w := watch.Unattached(self)
	w.Name(fsid, handle, 5)
	got := feed(t, w, event(unix.FAN_CREATE, self, named(handle, "own")), event(unix.FAN_CREATE, 0, named(handle, "other")))
	if len(got.events) != 1 || got.events[0].Name != "other" {
		t.Errorf("%+v", got)
	}
	if got := feed(t, w, event(unix.FAN_MODIFY, self, named(handle, "own"))); got.batches != 0 {
		t.Errorf("nothing was reported as %+v", got)
	}
}

func TestOverflowSaysItAll(t *testing.T) {
	t.Parallel()
	w := watch.Unattached(self)
	w.Name(fsid, handle, 5)
	for name, bad := range map[string][]byte{
		"queue":     event(unix.FAN_Q_OVERFLOW, 0),
		"malformed": event(unix.FAN_CREATE, 0, named(handle, "a/b")),
	} {
		got := feed(t, w, event(unix.FAN_CREATE, 0, named(handle, "a")), bad)
		if got.overflows != 1 || got.batches != 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	b := event(unix.FAN_CREATE, 0, named(handle, "a"))
	b[4]++
	if err := w.Feed(b, &record{}); !errors.Is(err, watch.ErrVersion) {
		t.Errorf("another version: %v", err)
	}
}

func TestARemovedDirectoryIsForgotten(t *testing.T) {
	t.Parallel()
	w := watch.Unattached(self)
	w.Name(fsid, handle, 5)
	gone := event(unix.FAN_DELETE_SELF|unix.FAN_ONDIR, self, named(handle, "."))
	got := feed(t, w, gone)
	if len(got.events) != 1 || got.events[0] != (watch.Event{Key: 5, What: watch.SelfGone | watch.Directory}) {
		t.Errorf("%+v", got)
	}
	if s := w.Status(); s.Marks != 0 {
		t.Errorf("%+v", s)
	}
	if got := feed(t, w, gone); got.batches != 0 {
		t.Errorf("reported again: %+v", got)
	}
}

func TestWhatReadsAsWords(t *testing.T) {
	t.Parallel()
	if got := fmt.Sprint(watch.Removed | watch.Directory); got != "removed, directory" {
		t.Error(got)
	}
}

// Every refusal has advice of its own; New's error too.
func TestRefusalsComeWithAdvice(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, why := range []error{watch.ErrLimit, watch.ErrRemote, watch.ErrDenied} {
		fix := fault.FixOf(watch.Advice(why, 12))
		if fix == "" || seen[fix] {
			t.Errorf("%v: %q", why, fix)
		}
		seen[fix] = true
	}
	for _, errno := range []syscall.Errno{unix.EMFILE, unix.EPERM, unix.ENOSYS} {
		if err := watch.Unavailable(errno); fault.KindOf(err) != fault.Host || fault.FixOf(err) == "" || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}

func TestRefusalsKeepTheirCause(t *testing.T) {
	t.Parallel()
	for errno, want := range map[syscall.Errno]error{
		unix.ENOSPC: watch.ErrLimit, unix.EOPNOTSUPP: watch.ErrUnsupported, unix.ENODEV: watch.ErrUnsupported,
		unix.EXDEV: watch.ErrUnsupported, unix.EACCES: watch.ErrDenied, unix.EBADF: unix.EBADF,
	} {
		if err := watch.Wrap("mark", errno); !errors.Is(err, want) || !errors.Is(err, errno) {
			t.Errorf("%v: %v", errno, err)
		}
	}
}
