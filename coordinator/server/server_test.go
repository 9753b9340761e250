package server_test

import (
	"bytes"
	"errors"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/coordtest"
	"lazaret.dev/lazaret/coordinator/server"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/fake"
)

var (
	pipes = wire.Size{}
	tty   = wire.Size{Rows: 24, Cols: 80}
)

func TestCommandRunsAndTheLastClientEndsTheDomain(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes, "echo", "hi")
	if exit := a.AwaitExit(); exit.Code != 0 || exit.Lost {
		t.Errorf("exit = %+v", exit)
	}
	if got := a.Out.String(); got != "hi\n" {
		t.Errorf("output = %q", got)
	}
	d.AwaitEnd()
	if n := d.Sandbox.Stops(); n != 1 {
		t.Errorf("sandbox was stopped %d times", n)
	}
}

func TestDomainLivesAsLongAsOneSession(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	first := d.Open(pipes, "cat")
	first.AwaitStarted()
	second := d.Open(tty, "echo", "two")
	second.AwaitExit()
	first.Write([]byte("still here"))
	first.AwaitOutput("still here")
	select {
	case <-d.Sandbox.Stopped():
		t.Fatal("stopped under a live session")
	default:
	}
	first.CloseInput()
	first.AwaitExit()
	d.AwaitEnd()
}

func TestExitStatusIsExact(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	hold := d.Open(pipes, "sleep")
	defer hold.Close()
	for _, code := range []int{0, 1, 42, 130, 255} {
		if exit := d.Open(pipes, "exit", strconv.Itoa(code)).AwaitExit(); exit.Code != code {
			t.Errorf("exit %d arrived as %+v", code, exit)
		}
	}
}

func TestStreamsAreSeparateWithoutATerminal(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes, "both")
	a.AwaitExit()
	if a.Out.String() != "out" || a.Err.String() != "err" {
		t.Errorf("stdout %q, stderr %q", a.Out.String(), a.Err.String())
	}
}

func TestTheProfilesCommandIsTheDefault(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes)
	a.AwaitExit()
	if got := a.Out.String(); got != "the profile's command\n" {
		t.Errorf("output = %q", got)
	}
}

func TestResizeReachesTheTerminal(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(tty, "size")
	a.AwaitOutput("size 80x24")
	a.Resize(wire.Size{Rows: 50, Cols: 132})
	a.AwaitOutput("size 132x50")
	a.Resize(wire.Size{}) // refused: not a size
	a.Resize(wire.Size{Rows: 1, Cols: 1})
	a.AwaitOutput("size 1x1")
}

func TestAllOutputComesBeforeExit(t *testing.T) {
	t.Parallel()
	const size = 3 << 20
	d := coordtest.Serve(t, &fake.Launcher{})
	hold := d.Open(pipes, "sleep")
	defer hold.Close()
	for _, mode := range []wire.Size{pipes, tty} {
		a := d.Open(mode, "flood", strconv.Itoa(size))
		a.AwaitExit()
		out := bytes.ReplaceAll(a.Out.Bytes(), []byte("\r\n"), []byte("\n"))
		if len(out) != size {
			t.Fatalf("%d bytes arrived of %d", len(out), size)
		}
		if last := out[len(out)-8:]; string(last) != "0393215\n" {
			t.Errorf("last line is %q", last)
		}
	}
}

// TestStuckReaderStopsOnlyItself: a client that does not read makes its own
// program wait, and no other.
func TestStuckReaderStopsOnlyItself(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	stuck := d.Open(pipes, "flood", strconv.Itoa(64<<20))
	other := d.Open(pipes, "cat")
	for i := range 50 {
		line := "line " + strconv.Itoa(i) + "\n"
		if _, err := other.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
		other.AwaitOutput(line)
	}
	select {
	case <-d.Sandbox.Processes()[0].Done():
		t.Error("the program of a client that does not read ran to its end: its output is in memory")
	default:
	}
	stuck.Close()
	other.CloseInput()
	other.AwaitExit()
	d.AwaitEnd()
}

// TestInputIsBounded: a program that does not read makes Write wait.
func TestInputIsBounded(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes, "sleep", "1")
	a.AwaitStarted()
	wrote := make(chan int, 1)
	go func() {
		n, _ := a.Write(make([]byte, 16<<20))
		wrote <- n
	}()
	a.End()
	a.AwaitExit()
	select {
	case n := <-wrote:
		if n > 1<<20 {
			t.Errorf("%d bytes were taken for a program that read none", n)
		}
	case <-time.After(coordtest.Limit):
		t.Fatal("Write did not end with the session")
	}
}

func TestEchoThroughLargeInput(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes, "cat")
	const size = 2 << 20
	want := bytes.Repeat([]byte("0123456789abcdef"), size/16)
	go func() {
		a.Write(want)
		a.CloseInput()
	}()
	a.AwaitExit()
	if !bytes.Equal(a.Out.Bytes(), want) {
		t.Errorf("%d bytes came back of %d, or in another order", a.Out.Len(), size)
	}
}

func TestTerminalEventsBecomeSignals(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	for event, sig := range map[wire.SignalEvent]unix.Signal{
		wire.EventInterrupt: unix.SIGINT, wire.EventQuit: unix.SIGQUIT, wire.EventSuspend: unix.SIGTSTP,
	} {
		hold := d.Open(pipes, "sleep")
		defer hold.Close()
		a := d.Open(pipes, "sleep", strconv.Itoa(int(sig)))
		a.AwaitStarted()
		a.Signal(event)
		if exit := a.AwaitExit(); exit.Code != 128+int(sig) {
			t.Errorf("event %d ended the command with %+v", event, exit)
		}
	}
}

// TestCloseLadder: HUP, TERM, KILL, each only when the one before did not do.
func TestCloseLadder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		argv []string
		code int
		sent []unix.Signal
	}{
		"hangup does":    {[]string{"sleep", "1"}, 129, []unix.Signal{unix.SIGHUP}},
		"terminate does": {[]string{"sleep", "15"}, 143, []unix.Signal{unix.SIGHUP, unix.SIGTERM}},
		"only kill does": {[]string{"sleep"}, 137, []unix.Signal{unix.SIGHUP, unix.SIGTERM}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := coordtest.Serve(t, &fake.Launcher{})
			a := d.Open(tty, c.argv...)
			a.AwaitStarted()
			a.End()
			if exit := a.AwaitExit(); exit.Code != c.code {
				t.Errorf("exit = %+v, want %d", exit, c.code)
			}
			d.AwaitEnd()
			p := d.Sandbox.Processes()[0]
			if got := p.Received(); !equal(got, c.sent) {
				t.Errorf("signals = %v, want %v", got, c.sent)
			}
			if p.Ends() == 0 {
				t.Error("what the session left running was not ended")
			}
		})
	}
}

func equal(a, b []unix.Signal) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TestLostClientStartsTheLadder: a client killed by SIGKILL leaves nothing.
func TestLostClientStartsTheLadder(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(tty, "sleep")
	a.AwaitStarted()
	a.Close()
	d.AwaitEnd()
	p := d.Sandbox.Processes()[0]
	if got := p.Received(); len(got) != 2 || p.Ends() == 0 {
		t.Errorf("signals = %v, ends = %d", got, p.Ends())
	}
}

func TestAnotherConfigurationIsRefusedByName(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	hold := d.Open(pipes, "sleep")
	defer hold.Close()
	hello := d.Hello()
	hello.Fingerprint = bytes.Repeat([]byte{1}, 32)
	hello.Facts = []wire.Fact{{Name: "image", Value: "oci:/x"}, {Name: "user", Value: "root"}}
	_, err := d.TryOpen(hello, wire.Start{Argv: []string{"echo"}})
	refused := wantRefused(t, err, wire.CodeFingerprint)
	if !strings.Contains(refused.Message, "image is builtin, you ask for oci:/x") || strings.Contains(refused.Message, "user") {
		t.Errorf("message = %q", refused.Message)
	}
	if _, err := d.TryOpen(d.Hello(), wire.Start{Argv: []string{"echo"}}); err != nil {
		t.Errorf("the same configuration was refused: %v", err)
	}
}

func wantRefused(t *testing.T, err error, code wire.Code) *wire.Refused {
	t.Helper()
	var refused *wire.Refused
	if !errors.As(err, &refused) || refused.Code != code {
		t.Fatalf("err = %v, want a refusal with code %d", err, code)
	}
	return refused
}

func TestGreetingIsChecked(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	for name, c := range map[string]struct {
		change func(*wire.Hello)
		code   wire.Code
	}{
		"domain": {func(h *wire.Hello) { h.Domain = "000000000000" }, wire.CodeWrongDomain},
		"client": {func(h *wire.Hello) { h.Client = "../x" }, wire.CodeProtocol},
	} {
		hello := d.Hello()
		c.change(&hello)
		_, err := d.TryOpen(hello, wire.Start{Argv: []string{"echo"}})
		t.Run(name, func(t *testing.T) { wantRefused(t, err, c.code) })
	}
	// client.Open sets the version itself, so another one is sent by hand.
	conn := d.Dial()
	hello := d.Hello()
	hello.Version, hello.Purpose, hello.Anchor = wire.Version+1, wire.PurposeSession, make([]byte, 32)
	if refused := exchange(t, conn, hello); refused.Code != wire.CodeVersion {
		t.Errorf("version: %+v", refused)
	}
}

func exchange(t *testing.T, conn net.Conn, m wire.Message) wire.Refused {
	t.Helper()
	if err := wire.Write(conn, m); err != nil {
		t.Fatal(err)
	}
	return readRefused(t, conn)
}

func readRefused(t *testing.T, conn net.Conn) wire.Refused {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(coordtest.Limit))
	for {
		m, err := wire.Read(conn)
		if err != nil {
			t.Fatal(err)
		}
		if refused, ok := m.(wire.Refused); ok {
			return refused
		}
	}
}

func TestAnotherUserIsRefused(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{}, func(c *server.Config) {
		c.PeerUID = func(net.Conn) (int, error) { return c.UID + 1, nil }
	})
	_, err := d.TryOpen(d.Hello(), wire.Start{Argv: []string{"echo"}})
	wantRefused(t, err, wire.CodePeer)
}

func TestBadFramesEndTheConnectionOnly(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	hold := d.Open(pipes, "cat")
	hold.AwaitStarted()
	for name, bytes := range map[string][]byte{
		"too long":     {0xff, 0xff, 0xff, 0xff, 1},
		"empty":        {0, 0, 0, 0},
		"unknown kind": {0, 0, 0, 2, 250, 0xa0},
		"no record":    {0, 0, 0, 1, byte(wire.KindHello)},
		"not hello":    {0, 0, 0, 2, byte(wire.KindQuery), 0xa0},
	} {
		conn := d.Dial()
		conn.Write(bytes)
		if refused := readRefused(t, conn); refused.Code != wire.CodeProtocol {
			t.Errorf("%s: %+v", name, refused)
		}
	}
	hold.Write([]byte("alive"))
	hold.AwaitOutput("alive")
}

func TestInputBeyondCreditBreaksTheProtocol(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	hold := d.Open(pipes, "cat")
	hold.AwaitStarted()
	conn := d.Dial()
	hello := d.Hello()
	hello.Version, hello.Purpose, hello.Anchor = wire.Version, wire.PurposeSession, make([]byte, 32)
	for _, m := range []wire.Message{hello, wire.Start{Argv: []string{"sleep"}}} {
		if err := wire.Write(conn, m); err != nil {
			t.Fatal(err)
		}
	}
	go func() {
		for range 64 {
			if wire.Write(conn, wire.Input{Data: make([]byte, wire.MaxChunk)}) != nil {
				return
			}
		}
	}()
	if refused := readRefused(t, conn); refused.Code != wire.CodeProtocol {
		t.Errorf("refused = %+v", refused)
	}
}

func TestUnknownCommandIsAnExecRefusal(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	lost, ok := d.Open(pipes, "no-such-command").AwaitEnd().(client.Lost)
	if !ok {
		t.Fatal("no Lost")
	}
	wantRefused(t, lost.Err, wire.CodeExec)
}

func TestSessionCannotSetTheSandboxsEnvironment(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	hold := d.Open(pipes, "sleep")
	defer hold.Close()
	s, err := d.TryOpen(d.Hello(), wire.Start{Argv: []string{"env"}, Env: []string{"LD_PRELOAD=/x"}})
	if err != nil {
		t.Fatal(err)
	}
	var last client.Event
	for e := range s.Events() {
		last = e
	}
	if lost, ok := last.(client.Lost); !ok || wantRefused(t, lost.Err, wire.CodeProtocol) == nil {
		t.Errorf("last event = %+v", last)
	}
	good, err := d.TryOpen(d.Hello(), wire.Start{Argv: []string{"env"}, Env: []string{"TERM=xterm"}})
	if err != nil {
		t.Fatal(err)
	}
	for e := range good.Events() {
		if out, ok := e.(client.Output); ok && !strings.Contains(string(out.Data), "TERM=xterm\nLAZARET_SESSION="+string(good.ID())) {
			t.Errorf("environment = %q", out.Data)
		}
	}
}

func TestLostSandboxEndsEverySession(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	actors := []*coordtest.Actor{d.Open(tty, "sleep"), d.Open(pipes, "cat")}
	for _, a := range actors {
		a.AwaitStarted()
	}
	d.Sandbox.Die(errors.New("the sentry was killed"))
	for _, a := range actors {
		if exit := a.AwaitExit(); !exit.Lost || exit.Code != 125 || exit.Reason != "the sentry was killed" {
			t.Errorf("exit = %+v", exit)
		}
	}
	d.AwaitEnd()
	if d.Sandbox.Stops() != 1 {
		t.Error("a lost sandbox was not cleaned up")
	}
}

// TestStatusOfADyingSandboxIsNotTheCommands: the end of its command may be the first to
// notice, and then ends with a status of its own.
func TestStatusOfADyingSandboxIsNotTheCommands(t *testing.T) {
	t.Parallel()
	launcher := &fake.Launcher{}
	d := coordtest.Serve(t, launcher)
	a := d.Open(pipes, "sleep", "2")
	a.AwaitStarted()
	d.Sandbox.Deafen()
	a.Signal(wire.EventInterrupt) // ends the client, not the command
	time.AfterFunc(50*time.Millisecond, func() { d.Sandbox.Die(errors.New("killed")) })
	if exit := a.AwaitExit(); !exit.Lost || exit.Reason != "killed" {
		t.Errorf("exit = %+v", exit)
	}
	d.AwaitEnd()
}

func TestLostNetworkIsTold(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes, "cat")
	a.Await(func(e client.Event) bool { st, ok := e.(client.Status); return ok && st.NetworkUp })
	d.Sandbox.SetNetwork("slirp4netns ended")
	n := a.Await(func(e client.Event) bool { _, ok := e.(client.Notice); return ok }).(client.Notice)
	if n.Level != wire.LevelError || !strings.Contains(n.Text, "slirp4netns ended") {
		t.Errorf("notice = %+v", n)
	}
	a.Await(func(e client.Event) bool { st, ok := e.(client.Status); return ok && !st.NetworkUp })
}

func TestStatusShowsSessions(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(tty, "sleep")
	a.AwaitStarted()
	a.Await(func(e client.Event) bool {
		st, ok := e.(client.Status)
		return ok && len(st.Sessions) == 1 && st.Sessions[0].StartedUnix > 0 && st.Sessions[0].Argv[0] == "sleep"
	})
	st, err := client.Query(t.Context(), d.Dial(), d.Hello())
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Sessions) != 1 || !st.Sessions[0].TTY || st.Profile != "shell" || st.Mode != string(runtime.ModeSingle) {
		t.Errorf("status = %+v", st)
	}
}

func TestQueryHoldsNothingUp(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{}, func(c *server.Config) { c.FirstClient = 100 * time.Millisecond })
	if _, err := client.Query(t.Context(), d.Dial(), d.Hello()); err != nil {
		t.Fatal(err)
	}
	d.AwaitEnd()
}

func TestShutdownClosesEverySession(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(tty, "sleep")
	a.AwaitStarted()
	d.Shutdown()
	if exit := a.AwaitExit(); exit.Code != 137 {
		t.Errorf("exit = %+v", exit)
	}
	d.AwaitEnd()
}

// TestAFrozenClientDoesNotHoldAShutdown: it has its last message queued and does
// not read; the coordinator goes all the same.
func TestAFrozenClientDoesNotHoldAShutdown(t *testing.T) {
	t.Parallel()
	d := coordtest.Serve(t, &fake.Launcher{})
	a := d.Open(pipes, "flood", strconv.Itoa(64<<20))
	a.AwaitStarted()
	d.Shutdown()
	d.AwaitEnd()
}
