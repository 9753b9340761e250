//go:build sandbox

package supervisor_test

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// listener prints every event of inotify(7) in the workspace and in its "d": the
// watch, the name, and whether it is IN_ATTRIB alone.
const listener = `
import ctypes, os, struct
libc = ctypes.CDLL(None)
fd = libc.inotify_init()
watches = {libc.inotify_add_watch(fd, path, 0xfce): path.decode() for path in (b".", b"d", b"d/file")}
print("READY", flush=True)
while True:
    data = os.read(fd, 65536)
    while data:
        watch, mask, _, size = struct.unpack("iIII", data[:16])
        name = data[16:16 + size].rstrip(b"\0").decode()
        data = data[16 + size:]
        print(watches.get(watch), name or "-", "attrib" if mask & 0xfff == 4 else hex(mask), flush=True)
`

// listen starts the listener in s and returns its lines.
func listen(t *testing.T, s runtime.Sandbox) <-chan string {
	t.Helper()
	in, _ := pipe(t)
	out, w := pipe(t)
	_, err := s.Exec(t.Context(), runtime.ExecSpec{Session: domain.NewSessionID(), Argv: []string{"python3", "-c", listener},
		Dir: "/workspace", Stdin: in, Stdout: w, Stderr: w})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for text := bufio.NewScanner(out); text.Scan(); {
			lines <- text.Text()
		}
	}()
	return lines
}

// awaitLine returns the lines up to want.
func awaitLine(t *testing.T, lines <-chan string, want string) (before []string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the listener ended before it said %q: %q", want, before)
			}
			if line == want {
				return before
			}
			before = append(before, line)
		case <-late:
			t.Fatalf("%q was not said, but %q", want, before)
		}
	}
}

func changeTime(t *testing.T, path string) unix.Timespec {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		t.Fatal(err)
	}
	return st.Ctim
}

// gVisor tells watchers inside nothing of what the host does; pokes do. Nothing of a
// poke comes back to the host, and nothing is said of what is not shown inside.
func TestHostChangesWakeWatchersInside(t *testing.T) {
	t.Parallel()
	spec := newSpec(t)
	host := func(name string) string { return filepath.Join(spec.Workspace, name) }
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(host(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(host("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(".gitignore", "*.secret\n")
	write("d/file", "old")
	if err := os.Mkdir(host(".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(".git/HEAD", "ref: refs/heads/main\n")
	s := start(t, spec)
	lines := listen(t, s)
	awaitLine(t, lines, "READY")

	write("d/file", "new")
	changed := changeTime(t, host("d/file"))
	awaitLine(t, lines, "d/file - attrib")
	if got := sh(t, s, "cat d/file"); got.stdout != "new" {
		t.Errorf("inside it is %q", got.stdout)
	}
	write("d/made", "x")
	awaitLine(t, lines, "d made attrib")
	write("d/hidden.secret", "x") // ignored: the sandbox has its own
	if err := os.Remove(host("d/made")); err != nil {
		t.Fatal(err)
	}
	said := awaitLine(t, lines, "d - attrib")
	write("last", "x")
	said = append(said, awaitLine(t, lines, ". last attrib")...)
	if text := strings.Join(said, "\n"); strings.Contains(text, "secret") {
		t.Errorf("the sandbox heard of a name it is not shown:\n%s", text)
	}
	if changeTime(t, host("d/file")) != changed {
		t.Error("the poke reached the host's file")
	}
}
