package daemon

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/packet"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
)

// Mode is the hidden mode Main implements.
const Mode = "__workspacefs"

// Descriptor is the daemon's end of the socket.
const Descriptor = 3

const (
	statusFailed = 1
	statusLost   = 125
)

// settleTime is when what starting took is no longer needed.
const settleTime = 3 * time.Second

// Server serves r until what it returns is called, which returns once everything is
// written. tell sends a message to the supervisor; before serve returns it may be
// steps and git directories only.
type Server func(r *link.Resources, tell func(link.Message, ...*os.File) error) (end func() error, err error)

// Main is the daemon. It ends with its supervisor.
func Main([]string) int { return Run(serve) }

// Run is Main with another Server.
func Run(serve Server) int {
	if err := proc.DieWithParent(); err != nil {
		return complain(err)
	}
	unix.CloseOnExec(Descriptor)
	conn, err := packet.Open(os.NewFile(Descriptor, "supervisor"))
	if err != nil {
		return complain(fmt.Errorf("not started by the supervisor: %w", err))
	}
	r, err := link.Receive(conn)
	if err != nil {
		return complain(err)
	}
	tell := func(m link.Message, files ...*os.File) error { return conn.Send(m, files...) }
	end, err := start(r, tell, serve)
	if err != nil {
		_ = conn.Send(link.Failure(err))
		return statusFailed
	}
	time.AfterFunc(settleTime, proc.GiveBack)
	// Nothing more is said to the daemon: what comes is the end.
	var m link.Message
	if files, err := conn.Receive(&m); !errors.Is(err, io.EOF) {
		packet.CloseAll(files)
		fmt.Fprintf(os.Stderr, "workspace file system: unexpected message %d (%v)\n", m.Kind, err)
	}
	if err := end(); err != nil {
		return complain(err)
	}
	return 0
}

func start(r *link.Resources, tell func(link.Message, ...*os.File) error, serve Server) (end func() error, err error) {
	if err := tell(link.Message{Kind: link.KindStep, Text: "confinement"}); err != nil {
		return nil, err
	}
	if err := confine(); err != nil {
		return nil, err
	}
	if end, err = serve(r, tell); err != nil {
		return nil, err
	}
	return end, tell(link.Message{Kind: link.KindReady})
}

func complain(err error) int {
	warn(err)
	return statusLost
}

// warn tells what the developer sees when the sandbox ends because of it.
func warn(err error) { fmt.Fprintf(os.Stderr, "workspace file system: %v\n", err) }
