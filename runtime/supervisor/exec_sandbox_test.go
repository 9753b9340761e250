//go:build sandbox

package supervisor_test

import (
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
)

// What a session takes of the supervisor it gives back, however it ends.
func TestSessionsLeaveNothingInTheSupervisor(t *testing.T) {
	s := start(t, newSpec(t))
	rs := find(t, descendants(os.Getpid()), "supervisor")
	open := func() (files []string) {
		dir := "/proc/" + itoa(rs.pid) + "/fd/"
		for _, e := range must(os.ReadDir(dir)) {
			file, _ := os.Readlink(dir + e.Name()) // closed meanwhile
			files = append(files, file)
		}
		return files
	}
	each := func() {
		run(t, s, "true")
		run(t, s, "no-such-command")
		sh(t, s, "kill -KILL $$")
		x := openTerminal(t, s, "sh", "-c", "echo up; exit 3")
		await(t, x.process.Done(), "a terminal's end")
		x = openTerminal(t, s, "sh", "-c", "echo up; exec sleep 1000")
		x.expect(t, "up")
		find(t, descendants(os.Getpid()), "leader").kill(t)
		await(t, x.process.Done(), "the end of a session without its leader")
	}
	each() // the runtime's own descriptors come with first use
	before := open()
	for range 3 {
		each()
	}
	deadline := time.Now().Add(10 * time.Second)
	for len(open()) > len(before) {
		if time.Now().After(deadline) {
			t.Fatalf("the supervisor held %q and now %q", before, open())
		}
	}
	if slices.ContainsFunc(descendants(os.Getpid()), func(k kin) bool { return k.role == "leader" }) {
		t.Error("a leader is left")
	}
}

// A session on pipes takes no process of the host at all.
func TestPipesNeedNoLeader(t *testing.T) {
	s := start(t, newSpec(t))
	before := len(descendants(os.Getpid()))
	in, inW := pipe(t)
	out, outW := pipe(t)
	p, err := s.Exec(t.Context(), runtime.ExecSpec{Session: domain.NewSessionID(), Argv: []string{"cat"}, Dir: "/", Stdin: in, Stdout: outW, Stderr: outW})
	if err != nil {
		t.Fatal(err)
	}
	outW.Close()
	in.Close()
	_, _ = io.WriteString(inW, "x")
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	// The sandbox's own stubs come and go with what runs inside.
	for _, k := range descendants(os.Getpid())[before:] {
		if k.role != "" {
			t.Errorf("a session made a %s", k.role)
		}
	}
	inW.Close()
	await(t, p.Done(), "the end of cat")
}

// A sentry that dies under a session loses it; the session's own streams hear nothing
// of how Lazaret noticed.
func TestASessionOfADeadSentryIsLost(t *testing.T) {
	s := start(t, newSpec(t))
	in, _ := pipe(t)
	out, outW := pipe(t)
	p, err := s.Exec(t.Context(), runtime.ExecSpec{Session: domain.NewSessionID(), Argv: []string{"sh", "-c", "echo up; exec sleep 1000"},
		Dir: "/", Stdin: in, Stdout: outW, Stderr: outW})
	if err != nil {
		t.Fatal(err)
	}
	outW.Close()
	if _, err := io.ReadFull(out, make([]byte, len("up\n"))); err != nil {
		t.Fatal(err)
	}
	find(t, descendants(os.Getpid()), "sentry").kill(t)
	await(t, p.Done(), "the session's end")
	if got := p.Exit(); !got.Lost {
		t.Errorf("%+v", got)
	}
	if rest, _ := io.ReadAll(out); len(rest) != 0 {
		t.Errorf("the session said %q", rest)
	}
	await(t, s.Done(), "the sandbox's end")
}
