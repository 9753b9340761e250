package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime/gvisor"
)

// serve answers HC until the sandbox ends or HC wants it to.
func (s *supervisor) serve() int {
	go s.watch()
	go s.workspace.serve(func(m message) error { return s.channel.send(m) })
	go s.watchWorkspace()
	for {
		m, files, err := s.channel.receive()
		if err != nil {
			return statusLost // the coordinator is gone; everything here goes with this process
		}
		switch m.Kind {
		case kindExec:
			go s.exec(m.ID, files) // ends with its command; files are its own
			files = nil
		case kindInventory:
			err = s.inventory()
		case kindStop:
			return s.stop()
		default:
			err = fmt.Errorf("unexpected message %d", m.Kind)
		}
		closeAll(files)
		if err != nil {
			_ = s.channel.send(failure(err))
			return statusLost
		}
	}
}

// watch ends RS when the sandbox ends by itself. Sessions that end with it report
// first where they can; HC takes the others for lost.
func (s *supervisor) watch() {
	<-s.sandbox.Done()
	s.mu.Lock()
	defer s.mu.Unlock() // for ever, when stopping: stop ends the process
	if s.stopping {
		return
	}
	text := "the sandbox ended with " + s.sandbox.Exit().String()
	if s.reason != "" {
		text = s.reason
	}
	s.workspace.end()
	_ = s.channel.send(message{Kind: kindEnded, Code: int32(s.sandbox.Exit().Status()), Text: text})
	os.Exit(0)
}

// watchMember ends the sandbox with its sentry or gofer. runsc does so by itself as
// a rule; without a gofer a busy one was seen to live on.
func (s *supervisor) watchMember(role string, pidfd *os.File) {
	defer pidfd.Close()
	if err := proc.AwaitEnd(pidfd); err != nil {
		return
	}
	s.endBecause("the sandbox's " + role + " ended")
}

// watchWorkspace ends the sandbox with the workspace file system. Nothing ever falls
// back to the open tree.
func (s *supervisor) watchWorkspace() {
	<-s.workspace.daemon.Done()
	s.endBecause("the workspace file system ended")
}

func (s *supervisor) endBecause(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	_ = s.sandbox.Signal(unix.SIGKILL)
}

// inventory asserts what the sandbox's processes were started with and hands HC a
// descriptor of each, so that it can name and await them itself.
func (s *supervisor) inventory() error {
	reply := message{Kind: kindInventoried}
	var files []*os.File
	defer func() { closeAll(files) }()
	sentry := false
	for _, pid := range processes() {
		argv := commandLine(pid)
		role := gvisor.Role(argv)
		if role == "" || len(files) == maxDescriptors {
			continue // systrap's stubs have the sentry's fate
		}
		if err := gvisor.Assert(argv); err != nil {
			return err
		}
		file, err := openProcess(pid, role)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if err != nil {
			return err
		}
		files = append(files, file)
		if role == "sentry" || role == "gofer" {
			own, err := openProcess(pid, role)
			if err != nil {
				return err
			}
			go s.watchMember(role, own)
		}
		reply.Names = append(reply.Names, role)
		sentry = sentry || role == "sentry"
	}
	if !sentry {
		return errors.New("the sandbox has no sentry")
	}
	file, err := openProcess(s.workspace.daemon.PID(), roleWorkspace)
	if err != nil {
		return err
	}
	files = append(files, file)
	reply.Names = append(reply.Names, roleWorkspace)
	return s.channel.send(reply, files...)
}

// roleWorkspace is the role of the workspace file system's daemon.
const roleWorkspace = "workspace"

func openProcess(pid int, role string) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("open %s %d: %w", role, pid, err)
	}
	return os.NewFile(uintptr(fd), role), nil
}

// processes lists the others in the PID namespace, dead ones included.
func processes() []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	var pids []int
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && pid != 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}

func commandLine(pid int) []string {
	b, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
}

// stopTime bounds how long killed processes may take to go.
const stopTime = 2 * time.Second

// stop ends everything, unmounts what persists, and says what is left.
func (s *supervisor) stop() int {
	s.mu.Lock()
	s.stopping = true
	s.mu.Unlock()
	_ = s.sandbox.Signal(unix.SIGKILL) // its processes carry a parent-death signal
	<-s.sandbox.Done()
	s.workspace.end()
	left := killAll(time.Now().Add(stopTime))
	mounts, detail := unmountAll()
	_ = s.channel.send(message{Kind: kindStopped, Counts: []uint32{uint32(left), uint32(mounts)}, Names: detail})
	return 0
}

// killAll kills every other process of the namespace and waits until it is gone.
func killAll(deadline time.Time) int {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		left := len(processes())
		if left == 0 || time.Now().After(deadline) {
			return left
		}
		_ = unix.Kill(-1, unix.SIGKILL) // everyone but this process, which is PID 1
		<-tick.C
	}
}

// unmountAll unmounts the workspace and the guest's root with its State Anchors,
// innermost first, and returns how many of their mounts are left. What else is mounted
// is memory.
func unmountAll() (left int, detail []string) {
	points := persistentPoints()
	for i := len(points) - 1; i >= 0; i-- {
		if strings.HasPrefix(points[i], roomWorkspace+"/") {
			continue // goes with the workspace: its daemon is gone, and no path in it can be walked
		}
		flags := 0
		if points[i] == roomWorkspace {
			flags = unix.MNT_DETACH
		}
		if err := unix.Unmount(points[i], flags); err != nil {
			detail = append(detail, fmt.Sprintf("unmount %s: %v", points[i], err))
		}
	}
	return len(persistentPoints()), detail
}

// persistentPoints lists the mount points of overlays and of the workspace file system
// in the order they were mounted.
func persistentPoints() []string {
	b, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return []string{"/proc/self/mountinfo"} // unknown is not none
	}
	var points []string
	for line := range strings.Lines(string(b)) {
		fields := strings.Fields(line)
		for i, f := range fields {
			if f == "-" && i+1 < len(fields) && (fields[i+1] == "overlay" || strings.HasPrefix(fields[i+1], "fuse")) {
				points = append(points, unescape(fields[4]))
			}
		}
	}
	return points
}

// unescape undoes the octal escapes of /proc/PID/mountinfo (proc(5)).
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}
