package gvisor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/gvisor"
)

// request is what a sentry got: one JSON object and the files that came with it.
type request struct {
	Method string
	Arg    json.RawMessage
	files  []*os.File
}

// sentry serves one control socket. Each connection gets one answer, written as it
// is, and is then closed.
type sentry struct {
	requests chan request
	control  gvisor.Control
}

func newSentry(t *testing.T, answer string) *sentry {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "runsc-box.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	s := &sentry{make(chan request, 64), gvisor.Runsc{Root: dir, Directfs: true}.Control("box")}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(conn.(*net.UnixConn), answer)
		}
	}()
	return s
}

// never is an answer that does not come.
const never = "never"

func (s *sentry) serve(conn *net.UnixConn, answer string) {
	defer conn.Close()
	first, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(64))
	_, n, _, _, err := conn.ReadMsgUnix(first, oob)
	if err != nil {
		return
	}
	var r request
	parts, _ := unix.ParseSocketControlMessage(oob[:n])
	for _, p := range parts {
		fds, _ := unix.ParseUnixRights(&p)
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "received"))
		}
	}
	if json.NewDecoder(io.MultiReader(bytes.NewReader(first), conn)).Decode(&r) != nil {
		return
	}
	s.requests <- r
	if answer == never {
		_, _ = conn.Read(first) // until the client has had enough
		return
	}
	_, _ = io.WriteString(conn, answer)
}

func echo() *specs.Process {
	return &specs.Process{
		Args: []string{"/bin/echo", "x"}, Env: []string{"A=b"}, Cwd: "/", NoNewPrivileges: true,
		User: specs.User{UID: 1, GID: 2, AdditionalGids: []uint32{3}},
		Capabilities: &specs.LinuxCapabilities{
			Bounding: []string{"CAP_CHOWN", "CAP_SETFCAP"}, Permitted: []string{"CAP_KILL"}, Effective: []string{"CAP_SYS_CHROOT"},
		},
	}
}

func streams(t *testing.T) (stdio [3]*os.File, read *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return [3]*os.File{r, w, w}, r
}

func TestExecuteSaysWhatAndHandsOverTheStreams(t *testing.T) {
	t.Parallel()
	s := newSentry(t, `{"success":true,"err":"","result":7}`)
	stdio, read := streams(t)
	pid, err := s.control.Execute(t.Context(), echo(), stdio)
	if err != nil || pid != 7 {
		t.Fatalf("%d, %v", pid, err)
	}
	r := <-s.requests
	const want = `{"argv":["/bin/echo","x"],"envv":["A=b"],"wd":"/","KUID":1,"KGID":2,"ExtraKGIDs":[3],"NoNewPrivileges":true,` +
		`"Capabilities":{"PermittedCaps":32,"InheritableCaps":0,"EffectiveCaps":262144,"BoundingCaps":2147483649,"AmbientCaps":0},` +
		`"StdioIsPty":false,"SupportTTYs":true,"GuestFDs":[0,1,2],"ContainerID":"box"}`
	if r.Method != "containerManager.ExecuteAsync" || string(r.Arg) != want {
		t.Errorf("%s %s", r.Method, r.Arg)
	}
	if len(r.files) != 3 {
		t.Fatalf("%d files", len(r.files))
	}
	_, _ = r.files[2].WriteString("through")
	got := make([]byte, 7)
	if _, err := io.ReadFull(read, got); err != nil || string(got) != "through" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestWaitAndSignal(t *testing.T) {
	t.Parallel()
	s := newSentry(t, `{"success":true,"result":512}`)
	if status, err := s.control.Wait(t.Context(), 7); err != nil || !status.Exited() || status.ExitStatus() != 2 {
		t.Errorf("%v, %v", status, err)
	}
	if r := <-s.requests; r.Method != "containerManager.WaitPID" || string(r.Arg) != `{"PID":7,"CID":"box"}` {
		t.Errorf("%s %s", r.Method, r.Arg)
	}
	s = newSentry(t, `{"success":true,"result":9}`)
	if status, err := s.control.Wait(t.Context(), 7); err != nil || !status.Signaled() || status.Signal() != unix.SIGKILL {
		t.Errorf("%v, %v", status, err)
	}
	s = newSentry(t, `{"success":true,"err":"","result":{}}`)
	if err := s.control.SignalForeground(t.Context(), 7, unix.SIGINT); err != nil {
		t.Error(err)
	}
	if r := <-s.requests; r.Method != "containerManager.Signal" || string(r.Arg) != `{"CID":"box","Signo":2,"PID":7,"Mode":2}` {
		t.Errorf("%s %s", r.Method, r.Arg)
	}
}

// A request as large as arguments can be takes many writes, and arrives whole.
func TestLargeRequest(t *testing.T) {
	t.Parallel()
	s := newSentry(t, `{"success":true,"result":1}`)
	p := echo()
	p.Env = []string{"BIG=" + strings.Repeat("x", 2<<20)}
	stdio, _ := streams(t)
	if _, err := s.control.Execute(t.Context(), p, stdio); err != nil {
		t.Fatal(err)
	}
	if r := <-s.requests; len(r.Arg) < 2<<20 || len(r.files) != 3 {
		t.Errorf("%d bytes, %d files", len(r.Arg), len(r.files))
	}
}

func TestRefusalIsToldInQuotes(t *testing.T) {
	t.Parallel()
	s := newSentry(t, `{"success":false,"err":"no \u001b[31m such","result":null}`)
	stdio, _ := streams(t)
	_, err := s.control.Execute(t.Context(), echo(), stdio)
	var refused *gvisor.RefusedError
	if !errors.As(err, &refused) || strings.Contains(err.Error(), "\x1b") || !strings.Contains(err.Error(), "such") {
		t.Errorf("%v", err)
	}
}

// Whatever a broken or hostile sentry answers is an error that says which of the two.
func TestBadAnswers(t *testing.T) {
	t.Parallel()
	yes := `{"success":true,"result":`
	for name, test := range map[string]struct {
		answer string
		want   error
	}{
		"nothing":         {"", gvisor.ErrHungUp},
		"half":            {yes, gvisor.ErrHungUp},
		"no JSON":         {"hello", gvisor.ErrMalformed},
		"another shape":   {`[1]`, gvisor.ErrMalformed},
		"no result":       {`{"success":true}`, gvisor.ErrMalformed},
		"null":            {yes + `null}`, gvisor.ErrMalformed},
		"text":            {yes + `"7"}`, gvisor.ErrMalformed},
		"too large an id": {yes + `4294967296}`, gvisor.ErrMalformed},
		"no id":           {yes + `0}`, gvisor.ErrMalformed},
		"a negative id":   {yes + `-1}`, gvisor.ErrMalformed},
		"endless":         {`{"err":"` + strings.Repeat("x", gvisor.MaxAnswer), gvisor.ErrMalformed},
		"deep":            {yes + strings.Repeat("[", gvisor.MaxAnswer/2), gvisor.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSentry(t, test.answer)
			stdio, _ := streams(t)
			if _, err := s.control.Execute(t.Context(), echo(), stdio); !errors.Is(err, test.want) {
				t.Errorf("execute: %v, want %v", err, test.want)
			}
		})
	}
	for _, status := range []string{"65535", "127", "4991", "-1", "4294967296"} { // continued, stopped, no status at all
		s := newSentry(t, yes+status+"}")
		if _, err := s.control.Wait(t.Context(), 7); !errors.Is(err, gvisor.ErrMalformed) {
			t.Errorf("wait: status %s: %v", status, err)
		}
	}
	gone := gvisor.Runsc{Root: t.TempDir()}.Control("box")
	if _, err := gone.Wait(t.Context(), 7); !errors.Is(err, gvisor.ErrHungUp) {
		t.Errorf("no socket: %v", err)
	}
}

func TestBadProcesses(t *testing.T) {
	t.Parallel()
	s := newSentry(t, `{"success":true,"result":7}`)
	for name, spoil := range map[string]func(*specs.Process){
		"no words":     func(p *specs.Process) { p.Args = nil },
		"no directory": func(p *specs.Process) { p.Cwd = "" },
		"raw sockets":  func(p *specs.Process) { p.Capabilities.Ambient = []string{"CAP_NET_RAW"} },
		"no name":      func(p *specs.Process) { p.Capabilities.Ambient = []string{""} },
	} {
		p := echo()
		spoil(p)
		stdio, _ := streams(t)
		if _, err := s.control.Execute(t.Context(), p, stdio); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if len(s.requests) != 0 {
		t.Error("the sentry was asked")
	}
}

// A sentry that says nothing keeps the caller only as long as that wants.
func TestContextEndsACall(t *testing.T) {
	t.Parallel()
	s := newSentry(t, never)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.control.Wait(ctx, 7)
		ended <- err
	}()
	<-s.requests // the call is under way
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Not parallel: it counts the descriptors of the process.
func TestNoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	control := gvisor.Runsc{Root: t.TempDir(), Directfs: true}.Control("box")
	stdio, _ := streams(t)
	before := count()
	for range 20 {
		if _, err := control.Execute(t.Context(), echo(), stdio); !errors.Is(err, gvisor.ErrHungUp) {
			t.Fatal(err)
		}
	}
	if after := count(); after != before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{`{"success":true,"err":"","result":7}`, `{"success":false,"err":"no","result":null}`, `{`, `{"success":true,"result":4294967296}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var pid int32
		err := gvisor.Decode(bytes.NewReader(data), "ExecuteAsync", &pid)
		var refused *gvisor.RefusedError
		switch {
		case err == nil:
			var again int32
			if err := gvisor.Decode(strings.NewReader(fmt.Sprintf(`{"success":true,"result":%d}`, pid)), "ExecuteAsync", &again); err != nil || again != pid {
				t.Errorf("%d again: %d, %v", pid, again, err)
			}
		case !errors.Is(err, gvisor.ErrHungUp) && !errors.Is(err, gvisor.ErrMalformed) && !errors.As(err, &refused):
			t.Errorf("an error of no kind: %v", err)
		}
	})
}
