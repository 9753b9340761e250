//go:build sandbox

package supervisor_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/sandboxtest"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/supervisor"
	"lazaret.dev/lazaret/runtime/workspacefs/daemon"
)

// The test binary is also every hidden mode the launcher starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case supervisor.Mode:
			os.Exit(supervisor.Main(os.Args[2:]))
		case daemon.Mode:
			os.Exit(daemon.Main(os.Args[2:]))
		case modeImageWorker:
			os.Exit(image.WorkerMain(os.Args[2:]))
		case modeCoordinator:
			os.Exit(actAsCoordinator())
		}
	}
	os.Exit(m.Run())
}

const modeImageWorker = "__image-worker"

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// lower returns the test image, unpacked once for this account.
func lower(tb testing.TB) string {
	tb.Helper()
	l, err := image.Prepare(tb.Context(), image.Options{
		StorageRoot: sandboxtest.Cache(tb), IDs: ids(tb), Source: image.Source(sandboxtest.Source(tb)),
	})
	if err != nil {
		tb.Fatalf("prepare the test image: %v", err)
	}
	return l.Rootfs
}

// ids are this account's.
func ids(tb testing.TB) runtime.IDs {
	tb.Helper()
	if os.Getuid() == 0 {
		wide := runtime.IDRange{Host: 700_000_000, Count: 65536}
		return runtime.IDs{Mode: runtime.ModeRoot, UIDs: wide, GIDs: wide}
	}
	name := must(user.Current()).Username
	for line := range strings.Lines(string(must(os.ReadFile("/etc/subuid")))) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) == 3 && fields[0] == name {
			host, count := must(strconv.ParseUint(fields[1], 10, 32)), must(strconv.ParseUint(fields[2], 10, 32))
			r := runtime.IDRange{Host: uint32(host), Count: uint32(count)}
			return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: r, GIDs: r}
		}
	}
	return runtime.IDs{Mode: runtime.ModeSingle}
}

// newSpec returns a generation with a workspace, a State Anchor for /root and the
// real image.
func newSpec(tb testing.TB) runtime.Spec {
	tb.Helper()
	dir := tb.TempDir()
	workspace, state := filepath.Join(dir, "workspace"), filepath.Join(dir, "state")
	for _, d := range []string{workspace, state} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			tb.Fatal(err)
		}
	}
	id, _ := domain.Identify("test", workspace)
	return runtime.Spec{
		Policy: runtime.WorkspacePolicy{Store: filepath.Join(dir, "domain", "workspace")},
		Domain: id, Generation: domain.NewGeneration(), IDs: ids(tb), Dir: filepath.Join(dir, "generation"),
		Lower: lower(tb), Workspace: workspace, WorkspaceGuest: "/workspace",
		Anchors:  []runtime.Anchor{{Path: "/root", Upper: state + "/root/upper", Work: state + "/root/work"}},
		Network:  runtime.Network{Enabled: true},
		Hostname: "test", User: runtime.User{Home: "/root"}, Env: []string{"LANG=C.UTF-8"},
		Limits:      runtime.Limits{Processes: 500, OpenFiles: 4096, TmpBytes: 256 << 20},
		GuestBinary: sandboxtest.Bin(tb, "lazaret-escalate"), Runsc: sandboxtest.Bin(tb, "runsc"), Directfs: true,
		Secrets: []runtime.GuestFile{{Path: "/run/lazaret/credential/sandbox.key", Mode: 0o444, Data: []byte("secret")}},
	}
}

// start launches spec and stops it with the test, which fails if anything is left.
func start(tb testing.TB, spec runtime.Spec) runtime.Sandbox {
	tb.Helper()
	s, err := supervisor.NewLauncher().Launch(tb.Context(), spec, nil)
	if err != nil {
		tb.Fatalf("launch: %v", err)
	}
	tb.Cleanup(func() { stop(tb, s) })
	return s
}

func stop(tb testing.TB, s runtime.Sandbox) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	proof, err := s.Stop(ctx)
	if err != nil || proof.Processes+proof.Mounts+proof.Files != 0 {
		tb.Errorf("stop: %+v, %v", proof, err)
	}
}

// result is one finished command.
type result struct {
	stdout, stderr string
	code           int
}

// run runs one command on pipes to its end.
func run(tb testing.TB, s runtime.Sandbox, argv ...string) result {
	tb.Helper()
	return runWith(tb, s, runtime.ExecSpec{Argv: argv, Dir: "/workspace"}, "")
}

func sh(tb testing.TB, s runtime.Sandbox, script string) result {
	tb.Helper()
	return run(tb, s, "sh", "-c", script)
}

func runWith(tb testing.TB, s runtime.Sandbox, spec runtime.ExecSpec, input string) result {
	tb.Helper()
	var outs [2]chan string
	var ends []*os.File
	inR, inW := pipe(tb)
	ends = append(ends, inR)
	for i := range outs {
		r, w := pipe(tb)
		ends = append(ends, w)
		outs[i] = make(chan string, 1)
		go func() {
			b, _ := io.ReadAll(r)
			outs[i] <- string(b)
		}()
	}
	spec.Stdin, spec.Stdout, spec.Stderr = ends[0], ends[1], ends[2]
	if spec.Session == "" {
		spec.Session = domain.NewSessionID()
	}
	p, err := s.Exec(tb.Context(), spec)
	for _, f := range ends {
		f.Close()
	}
	if err != nil {
		tb.Fatalf("exec %q: %v", spec.Argv, err)
	}
	_, _ = io.WriteString(inW, input)
	inW.Close()
	await(tb, p.Done(), fmt.Sprintf("end of %q", spec.Argv))
	return result{<-outs[0], <-outs[1], p.Exit().Code}
}

func pipe(tb testing.TB) (r, w *os.File) {
	tb.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func await(tb testing.TB, done <-chan struct{}, what string) {
	tb.Helper()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		tb.Fatalf("still waiting for: %s", what)
	}
}
