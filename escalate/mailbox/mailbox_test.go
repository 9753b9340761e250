package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate/mailbox"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/domain"
)

// box is a requests directory with an inbox running over it.
type box struct {
	dir     string
	entries chan mailbox.Entry
	mu      sync.Mutex
	refused map[string]error
}

func open(t *testing.T, owner func(uint32) bool, prepare func(dir string)) *box {
	t.Helper()
	b := &box{dir: memoryDir(t), entries: make(chan mailbox.Entry, 100), refused: map[string]error{}}
	if prepare != nil {
		prepare(b.dir)
	}
	dir, err := os.Open(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	in := &mailbox.Inbox{Dir: dir, Owner: owner, Deliver: func(e mailbox.Entry) { b.entries <- e }, Refused: b.refuse}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- in.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		dir.Close()
	})
	return b
}

// memoryDir makes a directory on a tmpfs, as the real mailbox is.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mailbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func (b *box) refuse(name string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused[name] = err
}

func (b *box) refusal(name string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refused[name]
}

// put writes an entry as the client does.
func put(t *testing.T, dir, name, data string) {
	t.Helper()
	id, _, _ := strings.Cut(name, ".")
	temporary := filepath.Join(dir, id+".tmp")
	if err := os.WriteFile(temporary, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(temporary, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func (b *box) expect(t *testing.T, name, data string) {
	t.Helper()
	select {
	case e := <-b.entries:
		id, kind, _ := wire.ParseRequestName(name)
		if e.Request != id || e.Kind != kind || string(e.Data) != data {
			t.Errorf("got %v %v %q, want %s with %q", e.Request, e.Kind, e.Data, name, data)
		}
	case <-time.After(20 * time.Second):
		t.Fatalf("%s was not delivered", name)
	}
	if _, err := os.Lstat(filepath.Join(b.dir, name)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", name, err)
	}
}

func TestDeliversByEventAndRemoves(t *testing.T) {
	t.Parallel()
	b := open(t, nil, nil)
	id := domain.NewRequestID()
	for _, name := range []string{wire.RequestName(id), wire.AckName(id, 1, false), wire.CancelName(id)} {
		put(t, b.dir, name, "bytes of "+name)
		b.expect(t, name, "bytes of "+name)
	}
}

func TestDeliversWhatWasThereBefore(t *testing.T) {
	t.Parallel()
	name := wire.RequestName(domain.NewRequestID())
	b := open(t, nil, func(dir string) { put(t, dir, name, "early") })
	b.expect(t, name, "early")
}

// Each hostile entry is followed by a proper one, which must arrive.
func TestHostileEntryHarmsNothing(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("host secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(path string) error{
		"symlink":        func(p string) error { return os.Symlink(secret, p) },
		"dangling link":  func(p string) error { return os.Symlink("/nonexistent", p) },
		"magic link":     func(p string) error { return os.Symlink("/proc/self/fd/0", p) },
		"FIFO":           func(p string) error { return unix.Mkfifo(p, 0o666) },
		"directory":      func(p string) error { return os.Mkdir(p, 0o777) },
		"full directory": func(p string) error { return os.MkdirAll(filepath.Join(p, "x"), 0o777) },
		"huge":           func(p string) error { return os.WriteFile(p, bytes.Repeat([]byte{1}, wire.MaxRecord+1), 0o666) },
		"huge and sparse": func(p string) error {
			return errors.Join(os.WriteFile(p+".tmp", nil, 0o666), os.Truncate(p+".tmp", 1<<40), os.Rename(p+".tmp", p))
		},
		"socket": func(p string) error { return mknod(p, unix.S_IFSOCK) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, nil, nil)
			bad := wire.RequestName(domain.NewRequestID())
			if err := make(filepath.Join(b.dir, bad)); err != nil {
				t.Fatal(err)
			}
			good := wire.RequestName(domain.NewRequestID())
			put(t, b.dir, good, "proper")
			b.expect(t, good, "proper")
			until(t, "the refusal", func() bool { return b.refusal(bad) != nil })
			if err := b.refusal(bad); !errors.Is(err, mailbox.ErrRefused) {
				t.Errorf("refused with %v", err)
			}
			if name != "full directory" {
				until(t, "the removal", func() bool {
					_, err := os.Lstat(filepath.Join(b.dir, bad))
					return errors.Is(err, os.ErrNotExist)
				})
			}
			if got, err := os.ReadFile(secret); err != nil || string(got) != "host secret" {
				t.Errorf("the secret is %q, %v", got, err)
			}
		})
	}
}

func mknod(p string, kind uint32) error { return unix.Mknod(p, kind|0o666, 0) }

func TestForeignNamesAreRemoved(t *testing.T) {
	t.Parallel()
	b := open(t, nil, nil)
	for _, name := range []string{"x", "..request", "README", strings.Repeat("n", 255)} {
		if err := os.WriteFile(filepath.Join(b.dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "an empty mailbox", func() bool { return empty(t, b.dir) })
}

func TestWrongOwnerIsRefused(t *testing.T) {
	t.Parallel()
	self := uint32(os.Geteuid())
	b := open(t, func(uid uint32) bool { return uid != self }, nil)
	name := wire.RequestName(domain.NewRequestID())
	put(t, b.dir, name, "data")
	until(t, "the refusal", func() bool { return errors.Is(b.refusal(name), mailbox.ErrRefused) })
	twin := open(t, func(uid uint32) bool { return uid == self }, nil)
	put(t, twin.dir, name, "data")
	twin.expect(t, name, "data")
}

// A directory full of rubbish does not keep a proper entry waiting, and is emptied.
func TestFloodOfRubbish(t *testing.T) {
	t.Parallel()
	count := 100_000
	if testing.Short() {
		count = 5_000
	}
	b := open(t, nil, func(dir string) {
		for i := range count {
			fd, err := unix.Open(filepath.Join(dir, fmt.Sprintf("rubbish-%d", i)), unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			unix.Close(fd)
		}
	})
	name := wire.RequestName(domain.NewRequestID())
	put(t, b.dir, name, "proper")
	b.expect(t, name, "proper")
	until(t, "an empty mailbox", func() bool { return empty(t, b.dir) })
}

func TestPutIsCompleteAndReadable(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	out := &mailbox.Outbox{Dir: dir}
	id := domain.NewRequestID()
	for _, data := range []string{"first", "second"} { // the second replaces
		if err := out.Put(id, wire.ResultName(id), []byte(data)); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(path, wire.ResultName(id)))
		if err != nil || string(got) != data {
			t.Fatalf("got %q, %v", got, err)
		}
	}
	st, err := os.Stat(filepath.Join(path, wire.ResultName(id)))
	if err != nil || st.Mode().Perm() != 0o444 {
		t.Errorf("mode is %v, %v", st.Mode(), err)
	}
	out.Remove(wire.ResultName(id))
	if left, _ := os.ReadDir(path); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func empty(t *testing.T, path string) bool {
	t.Helper()
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(1)
	return len(names) == 0
}

// until waits, within a bound, for what another goroutine does to the file system.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline:
			t.Fatalf("%s did not come", what)
		case <-tick.C:
		}
	}
}
