//go:build sandbox

package userns_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "child":
			os.Exit(child())
		case "parent":
			os.Exit(parent())
		}
	}
	os.Exit(m.Run())
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// child tells what it sees of itself and waits for its input to end.
func child() int {
	if err := userns.Enter(); err != nil {
		fmt.Println(err)
		return 1
	}
	_, leaked := os.LookupEnv("LAZARET_LIFETIME")
	b := must(os.ReadFile("/proc/thread-self/uid_map"))
	caps := map[string]string{}
	for line := range strings.Lines(string(must(os.ReadFile("/proc/thread-self/status")))) {
		name, value, _ := strings.Cut(line, ":")
		caps[name] = strings.TrimSpace(value)
	}
	if handed := caps["CapInh"] + caps["CapAmb"]; strings.Trim(handed, "0") != "" {
		fmt.Printf("hands capabilities on: %s\n", handed)
	}
	fmt.Printf("%d %d %s %t %s\n", os.Getuid(), os.Getgid(), caps["CapEff"], leaked, strings.Join(strings.Fields(string(b)), " "))
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 3
}

// parent starts a child, names it, and waits to be killed.
func parent() int {
	in, _ := must2(os.Pipe())
	p, err := userns.Start(proc.Spec{Path: proc.Self(), Args: []string{"x", "child"}, Files: []*os.File{in, os.Stdout, os.Stderr}}, ids())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("pid", p.PID())
	<-p.Done()
	return 0
}

func must2[A, B any](a A, b B, err error) (A, B) {
	if err != nil {
		panic(err)
	}
	return a, b
}

func ids() runtime.IDs {
	if os.Getuid() == 0 {
		wide := runtime.IDRange{Host: 700_000_000, Count: 65536}
		return runtime.IDs{Mode: runtime.ModeRoot, UIDs: wide, GIDs: wide}
	}
	name := must(user.Current()).Username
	for line := range strings.Lines(string(must(os.ReadFile("/etc/subuid")))) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) == 3 && f[0] == name {
			r := runtime.IDRange{Host: uint32(must(strconv.ParseUint(f[1], 10, 32))), Count: uint32(must(strconv.ParseUint(f[2], 10, 32)))}
			return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: r, GIDs: r}
		}
	}
	return runtime.IDs{Mode: runtime.ModeSingle}
}

func TestChildIsRootOfItsNamespace(t *testing.T) {
	t.Parallel()
	in, hold := must2(os.Pipe())
	out, w := must2(os.Pipe())
	p, err := userns.Start(proc.Spec{Path: proc.Self(), Args: []string{"x", "child"},
		Files: []*os.File{in, w, os.Stderr}, Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET}, ids())
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	w.Close()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	i := ids()
	want := map[runtime.Mode]string{
		runtime.ModeSubordinate: fmt.Sprintf("0 %d 1 1 %d %d", os.Getuid(), i.UIDs.Host, i.UIDs.Count),
		runtime.ModeSingle:      fmt.Sprintf("0 %d 1", os.Getuid()),
		runtime.ModeRoot:        fmt.Sprintf("0 %d %d", i.UIDs.Host, i.UIDs.Count),
	}[i.Mode]
	fields := strings.SplitN(strings.TrimSpace(line), " ", 5)
	if len(fields) != 5 || fields[0] != "0" || fields[1] != "0" || fields[3] != "false" || fields[4] != want {
		t.Errorf("the child sees %q, want a map of %q", line, want)
	}
	if set, err := strconv.ParseUint(fields[2], 16, 64); err != nil || set&(1<<unix.CAP_SYS_ADMIN) == 0 {
		t.Errorf("the child has capabilities %s", fields[2])
	}
	hold.Close()
	<-p.Done()
	if got := p.Exit(); got.Code != 3 {
		t.Errorf("%v", got)
	}
}

// The child of a killed starter ends, though an exec has cleared its signal.
func TestChildDiesWithItsStarter(t *testing.T) {
	t.Parallel()
	out, w := must2(os.Pipe())
	p, err := proc.Start(proc.Spec{Path: proc.Self(), Args: []string{"x", "parent"}, Files: []*os.File{nil, w, os.Stderr}, Env: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	pid := 0
	lines := bufio.NewScanner(out)
	for range 2 { // the starter names the child, the child says it has entered
		if !lines.Scan() {
			t.Fatal("the starter ended early")
		}
		if value, ok := strings.CutPrefix(lines.Text(), "pid "); ok {
			pid = must(strconv.Atoi(value))
		}
	}
	fd := must(unix.PidfdOpen(pid, 0))
	if err := p.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int((10 * time.Second).Milliseconds()))
	if err != nil || n != 1 {
		t.Errorf("the child lives on: %v", err)
	}
}

func TestUnknownModeIsRefused(t *testing.T) {
	t.Parallel()
	for _, bad := range []runtime.IDs{{}, {Mode: "other"}, {Mode: runtime.ModeRoot}} {
		if _, err := userns.Start(proc.Spec{Path: "/bin/true"}, bad); err == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}
