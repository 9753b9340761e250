//go:build sandbox

package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/sandboxtest"
)

// place is one workspace with a configuration, and so its own Domains. The
// Storage Root is the account's, so that the image is prepared once.
type place struct {
	t         *testing.T
	workspace string
	config    string
	data      string
}

func newPlace(t *testing.T, profile string) *place {
	t.Helper()
	p := &place{t: t, workspace: t.TempDir(), config: filepath.Join(t.TempDir(), "config.toml"),
		data: filepath.Join(sandboxtest.Cache(t), "data")}
	p.configure(profile)
	return p
}

func (p *place) configure(profile string) {
	p.t.Helper()
	text := fmt.Sprintf("[storage]\ndata_root = %q\n[profiles.shell]\nimage = %q\n%s\n", p.data, sandboxtest.Source(p.t), profile)
	if err := os.WriteFile(p.config, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// command is lazaret with the given arguments in the place's workspace.
func (p *place) command(args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command(sandboxtest.Bin(p.t, "lazaret"), append([]string{"--config", p.config}, args...)...)
	cmd.Dir = p.workspace
	return cmd
}

// outcome is how a finished lazaret ended.
type outcome struct {
	code           int
	stdout, stderr string
}

func (p *place) run(stdin string, args ...string) outcome {
	p.t.Helper()
	cmd := p.command(append([]string{"run"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return finish(p.t, cmd)
}

func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (p *place) must(stdin string, args ...string) string {
	p.t.Helper()
	o := p.run(stdin, args...)
	if o.code != 0 {
		p.t.Fatalf("lazaret run %q ended with %d: %s", args, o.code, o.stderr)
	}
	return o.stdout
}

// hold starts a session that lasts until its standard input is closed, and waits
// until it runs.
func (p *place) hold() *held {
	p.t.Helper()
	cmd := p.command("run", "--", "cat")
	h := &held{t: p.t, cmd: cmd, done: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd.Stderr = &h.stderr
	h.release = func() { stdin.Close() }
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	fmt.Fprintln(stdin, "up")
	line := make([]byte, 3)
	if n, err := stdout.Read(line); n == 0 {
		cmd.Wait()
		p.t.Fatalf("the session does not come up: %v: %s", err, h.stderr.String())
	}
	go func() {
		defer close(h.done)
		cmd.Wait()
	}()
	p.t.Cleanup(func() { h.release(); h.end() })
	return h
}

type held struct {
	t       *testing.T
	cmd     *exec.Cmd
	stderr  bytes.Buffer
	release func()
	done    chan struct{}
}

// end waits for the client and returns its exit code.
func (h *held) end() int {
	h.t.Helper()
	select {
	case <-h.done:
	case <-time.After(time.Minute):
		h.t.Fatal("the client does not end")
	}
	return h.cmd.ProcessState.ExitCode()
}

// domain is what status says of the place's one live Domain.
type domain struct {
	Running bool   `json:"running"`
	Root    string `json:"root"`
	Status  *struct {
		Coordinator int    `json:"coordinator_pid"`
		NetworkUp   bool   `json:"network_up"`
		Log         string `json:"log"`
		Sessions    []struct {
			Argv []string `json:"argv"`
		} `json:"sessions"`
	} `json:"status"`
}

func (p *place) status() domain {
	p.t.Helper()
	o := finish(p.t, p.command("status", "--json"))
	var domains []domain
	if err := json.Unmarshal([]byte(o.stdout), &domains); err != nil || len(domains) != 1 {
		p.t.Fatalf("status: %v, %s%s", err, o.stdout, o.stderr)
	}
	return domains[0]
}

func TestRunPassesTheStatusOn(t *testing.T) {
	p := newPlace(t, "")
	hold := p.hold()
	for command, want := range map[string]int{
		"exit 0": 0, "exit 42": 42, "kill -9 $$": 137, "kill $$": 143, "no-such-command": 127,
	} {
		if o := p.run("", "--", "sh", "-c", command); o.code != want {
			t.Errorf("%q ended with %d, want %d (%s)", command, o.code, want, o.stderr)
		}
	}
	hold.release()
	if code := hold.end(); code != 0 {
		t.Errorf("the held session ended with %d", code)
	}
}

func TestRunConnectsThreeStreams(t *testing.T) {
	p := newPlace(t, "")
	o := p.run("in", "--", "sh", "-c", "cat; echo err >&2; test -t 0 || test -t 1 || echo no terminal")
	if o.code != 0 || o.stdout != "inno terminal\n" || o.stderr != "err\n" {
		t.Errorf("outcome = %+v", o)
	}
	big := strings.Repeat("0123456789abcdef", 1<<16)
	if got := p.must(big, "--", "cat"); got != big {
		t.Errorf("%d bytes came back of %d", len(got), len(big))
	}
}

func TestStateAndWorkspaceAreKept(t *testing.T) {
	p := newPlace(t, "")
	p.must("", "--", "sh", "-c", "echo kept >/usr/local/kept; echo shared >/workspace/shared; echo gone >/tmp/gone")
	if got, err := os.ReadFile(filepath.Join(p.workspace, "shared")); string(got) != "shared\n" {
		t.Errorf("workspace file = %q, %v", got, err)
	}
	if got := p.must("", "--", "sh", "-c", "cat /usr/local/kept; ls /tmp"); got != "kept\n" {
		t.Errorf("the next generation sees %q", got)
	}
}

func TestAnotherConfigurationIsRefused(t *testing.T) {
	p := newPlace(t, "")
	p.hold()
	p.configure("network = false")
	o := p.run("", "--", "true")
	if o.code != 123 || !strings.Contains(o.stderr, "network is on, you ask for off") {
		t.Errorf("outcome = %+v", o)
	}
	p.configure("")
	p.must("", "--", "true")
}

func TestStatusOfALiveDomain(t *testing.T) {
	p := newPlace(t, "")
	p.hold()
	d := p.status()
	if !d.Running || !d.Status.NetworkUp || len(d.Status.Sessions) != 1 || d.Status.Sessions[0].Argv[0] != "cat" {
		t.Errorf("status = %+v", d)
	}
	o := finish(t, p.command("ps"))
	if !strings.Contains(o.stdout, filepath.Base(d.Root)) || !strings.Contains(o.stdout, "running") {
		t.Errorf("ps = %s", o.stdout)
	}
}

func TestInstallStepIsKept(t *testing.T) {
	p := newPlace(t, "install = \"echo installing; printf '#!/bin/sh\\\\necho tool' >/usr/local/bin/tool; chmod +x /usr/local/bin/tool\"\ncommand = [\"tool\"]")
	first := p.run("")
	if first.code != 0 || first.stdout != "tool\n" || !strings.Contains(first.stderr, "installing") {
		t.Errorf("first = %+v", first)
	}
	if second := p.run(""); second.stdout != "tool\n" || strings.Contains(second.stderr, "installing") {
		t.Errorf("second = %+v", second)
	}
}

func TestFailedInstallStepNamesItsLog(t *testing.T) {
	p := newPlace(t, "install = \"echo the reason; exit 3\"\ncommand = [\"true\"]")
	o := p.run("")
	if o.code != 125 || !strings.Contains(o.stderr, "install.log") || !strings.Contains(o.stderr, "the reason") {
		t.Errorf("outcome = %+v", o)
	}
}

// TestRequestWithoutATerminalIsDenied at once: nobody can decide, and the asker is
// told. TestCardInTheTerminal is its twin.
func TestRequestWithoutATerminalIsDenied(t *testing.T) {
	p := newPlace(t, "[escalation]\nexpire = \"1h\"")
	o := p.run("", "--", "sh", "-c", "timeout 60 lazaret-escalate -- uname -a 2>&1; echo status $?")
	if !strings.Contains(o.stderr, "no terminal here to decide on") ||
		!strings.Contains(o.stdout, "no terminal to decide on") || !strings.HasSuffix(o.stdout, "status 126\n") {
		t.Errorf("outcome = %+v", o)
	}
}

// TestForkBombEndsWithItsSession: a session's tasks are bounded, so its neighbour
// lives on, the bomb goes with its session, and the next one starts. The bound is
// small here: what a bomb of the default size costs the host is not the question.
func TestForkBombEndsWithItsSession(t *testing.T) {
	p := newPlace(t, "limits.processes = 200")
	neighbour := p.terminal("--", "bash", "--norc")
	p.types(neighbour, "echo up''1\r")
	p.shows(neighbour, "up1")
	p.run("", "--", "timeout", "-s", "KILL", "3", "bash", "-c", ":(){ :|:& };:; sleep 100")
	p.types(neighbour, "echo up''2\r")
	p.shows(neighbour, "up2")
	if o := p.run("", "--", "echo", "next"); o.code != 0 || o.stdout != "next\n" {
		t.Errorf("the next session: %+v", o)
	}
}

// killed is who is killed with SIGKILL, and what becomes of the session.
var killed = []struct {
	who  string
	find func(tree []process) int
	code int // of the client; -1: the session goes on
}{
	{"coordinator", byName("lazaret-hc"), 125},
	{"supervisor", byArgument("__rs"), 125},
	{"runsc", byName("runsc"), 125},
	{"sentry", byArgument("runsc-sandbox"), 125},
	{"slirp4netns", byName("slirp4netns"), -1},
}

// killRounds is how often each is killed; the full count is for CI.
func killRounds() int {
	if n, err := strconv.Atoi(os.Getenv("LAZARET_KILL_ROUNDS")); err == nil {
		return n
	}
	return 2
}

func TestKillLeavesNothing(t *testing.T) {
	for _, k := range killed {
		t.Run(k.who, func(t *testing.T) {
			p := newPlace(t, "")
			for range killRounds() {
				p.killOne(k.find, k.code)
			}
			if got := p.must("", "--", "echo", "works"); got != "works\n" {
				t.Errorf("the next start gives %q", got)
			}
		})
	}
}

func (p *place) killOne(find func([]process) int, code int) {
	p.t.Helper()
	hold := p.hold()
	d := p.status()
	tree := descendants(d.Status.Coordinator)
	pid := find(tree)
	if pid == 0 {
		p.t.Fatalf("not found among %+v", tree)
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		p.t.Fatal(err)
	}
	if code < 0 {
		sandboxtest.Await(p.t, 10*time.Second, "the network is reported lost", func() bool { return !p.status().Status.NetworkUp })
		hold.release()
		code = 0
	}
	if got := hold.end(); got != code {
		p.t.Errorf("the client ended with %d, want %d: %s", got, code, hold.stderr.String())
	}
	sandboxtest.Await(p.t, 20*time.Second, "every process of the generation ends", func() bool { return len(alive(tree)) == 0 })
	p.nothingLeft(d.Root)
}

// nothingLeft looks for what a generation must not leave behind.
func (p *place) nothingLeft(root string) {
	p.t.Helper()
	for _, pattern := range []string{filepath.Join(root, "gen", "*"), filepath.Join(root, "endpoint"),
		fmt.Sprintf("/tmp/lazaret-%d/%s/*", os.Getuid(), filepath.Base(root))} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			p.t.Errorf("left behind: %v", left)
		}
	}
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		p.t.Fatal(err)
	}
	if bytes.Contains(mounts, []byte(root)) {
		p.t.Errorf("mounts left below %s", root)
	}
	lock, err := os.Open(filepath.Join(root, "domain.lock"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		p.t.Errorf("the Domain lock is held: %v", err)
	}
}

func TestKilledClientLeavesNothing(t *testing.T) {
	p := newPlace(t, "")
	for range killRounds() {
		hold := p.hold()
		d := p.status()
		tree := descendants(d.Status.Coordinator)
		hold.cmd.Process.Kill()
		sandboxtest.Await(t, 30*time.Second, "every process of the generation ends", func() bool { return len(alive(tree)) == 0 })
		p.nothingLeft(d.Root)
	}
	p.must("", "--", "true")
}

// process is one process as proc(5) shows it. Start tells it from a later one of
// the same number.
type process struct {
	pid, parent int
	start       string
	name        string
	arguments   []string
}

func byName(name string) func([]process) int {
	return func(tree []process) int {
		for _, p := range tree {
			if p.name == name {
				return p.pid
			}
		}
		return 0
	}
}

func byArgument(argument string) func([]process) int {
	return func(tree []process) int {
		for _, p := range tree {
			for _, a := range p.arguments {
				if a == argument {
					return p.pid
				}
			}
		}
		return 0
	}
}

// descendants is the process root and everything below it.
func descendants(root int) []process {
	entries, _ := os.ReadDir("/proc")
	children := map[int][]process{}
	var tree []process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid); ok {
			children[p.parent] = append(children[p.parent], p)
			if pid == root {
				tree = append(tree, p)
			}
		}
	}
	for i := 0; i < len(tree); i++ {
		tree = append(tree, children[tree[i].pid]...)
	}
	return tree
}

// readProcess reads a live process; a zombie does not count.
func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, false
	}
	open, end := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if fields[0] == "Z" || fields[0] == "X" {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return process{}, false
	}
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return process{pid: pid, parent: parent, start: fields[19], name: string(stat[open+1 : end]),
		arguments: strings.Split(string(cmdline), "\x00")}, true
}

// alive is what of tree still lives.
func alive(tree []process) []process {
	var left []process
	for _, p := range tree {
		if now, ok := readProcess(p.pid); ok && now.start == p.start {
			left = append(left, p)
		}
	}
	return left
}
