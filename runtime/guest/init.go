package guest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/guest/control"
)

// maxConcurrent bounds the requests the init works on at once; the next frame waits.
const maxConcurrent = 16

// InitMain is `lazaret-escalate --guest-init`. It returns when the host closes the
// channel; PID 1's end is the sandbox's.
func InitMain(args []string) int {
	options, err := control.ParseInit(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "lazaret guest init: %v\n", err)
		return 2
	}
	i := &initProcess{roots: systemRoots(), out: os.Stdout}
	return i.run(options, os.Stdin)
}

// initProcess is the guest init.
type initProcess struct {
	roots roots

	mu  sync.Mutex // protects out
	out io.Writer
}

func (i *initProcess) run(options control.Init, in io.Reader) int {
	catchAll()
	stop := reapForever()
	defer stop()
	if err := limitOpenFiles(options.OpenFiles); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret guest init: %v\n", err)
	}
	if err := i.reply(control.Reply{Count: control.Version}); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret guest init: %v\n", err)
		return 1
	}
	if err := i.serve(in); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret guest init: %v\n", err)
		return 1
	}
	return 0
}

// serve answers requests until the host closes the channel.
func (i *initProcess) serve(in io.Reader) error {
	slots := make(chan struct{}, maxConcurrent)
	for {
		var request control.Request
		if err := control.ReadFrame(in, &request); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		slots <- struct{}{}
		go func() {
			defer func() { <-slots }()
			reply := i.handle(request)
			reply.ID = request.ID
			if err := i.reply(reply); err != nil {
				fmt.Fprintf(os.Stderr, "lazaret guest init: %v\n", err)
			}
		}()
	}
}

func (i *initProcess) reply(reply control.Reply) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return control.WriteFrame(i.out, reply)
}

func (i *initProcess) handle(request control.Request) control.Reply {
	switch request.Op {
	case control.OpPoke:
		return outcome(poke(request.Path))
	case control.OpEndSession:
		return i.endSession(request.Session)
	case control.OpSignalSession:
		return outcome(i.signalSession(request.Session, unix.Signal(request.Signal)))
	case control.OpReadFile:
		data, err := readFile(request.Path, int64(request.Limit))
		reply := outcome(err)
		reply.Data = data
		return reply
	case control.OpWriteFile:
		return outcome(writeFile(request.Path, request.Mode, request.Data))
	case control.OpStats:
		stats := i.stats()
		return control.Reply{Stats: &stats}
	}
	return control.Reply{Code: control.CodeInvalid, Message: "unknown operation"}
}

// outcome is the reply that says how an operation without a result went.
func outcome(err error) control.Reply {
	switch {
	case err == nil:
		return control.Reply{}
	case errors.Is(err, os.ErrNotExist), errors.Is(err, control.ErrNotFound):
		return control.Reply{Code: control.CodeNotFound}
	case errors.Is(err, control.ErrTooLarge):
		return control.Reply{Code: control.CodeTooLarge}
	case errors.Is(err, control.ErrNotRegular):
		return control.Reply{Code: control.CodeNotRegular}
	}
	return control.Reply{Code: control.CodeFailed, Message: clip(err.Error())}
}

// clip bounds a message, whose text may hold a path of the guest's making.
func clip(s string) string {
	const limit = 256
	b := make([]byte, 0, limit)
	for _, r := range s {
		if len(b) >= limit-4 {
			break
		}
		b = append(b, string(r)...)
	}
	return string(b)
}

// catchAll keeps a stray signal from ending the sandbox: gVisor gives PID 1 no
// immunity. Only SIGKILL and SIGSTOP are left.
func catchAll() {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2,
		unix.SIGPIPE, unix.SIGALRM, unix.SIGVTALRM, unix.SIGPROF, unix.SIGIO, unix.SIGPWR, unix.SIGTSTP,
		unix.SIGTTIN, unix.SIGTTOU, unix.SIGXCPU, unix.SIGXFSZ, unix.SIGSTKFLT)
	go func() {
		for range caught {
			continue // discarded on purpose; an ignored signal would be inherited
		}
	}()
}

// reapForever reaps every orphan that reaches PID 1, until stopped.
func reapForever() (stop func()) {
	children := make(chan os.Signal, 1)
	signal.Notify(children, unix.SIGCHLD)
	done := make(chan struct{})
	go func() {
		for {
			reapAll(nil)
			select {
			case <-children:
			case <-done:
				return
			}
		}
	}()
	return func() {
		signal.Stop(children)
		close(done)
	}
}

// reapAll reaps every ended child and hands each to took, which may be nil.
func reapAll(took func(pid int, status syscall.WaitStatus)) {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if took != nil {
			took(pid, status)
		}
	}
}

func limitOpenFiles(n uint64) error {
	if n == 0 {
		return nil
	}
	// Package syscall's Setrlimit, unlike prlimit, tells the Go runtime not to put
	// the old soft limit back in children.
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: n}); err != nil {
		return fmt.Errorf("limit open files to %d: %w", n, err)
	}
	return nil
}
