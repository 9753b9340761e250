package spawn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/fault"
)

// errNotRunning means that nobody serves the Domain.
var errNotRunning = errors.New("the Domain has no live coordinator")

// connect opens the session with the coordinator that the Domain Root names.
func (a attempt) connect(ctx context.Context) (*client.Session, error) {
	conn, err := Dial(ctx, a.root)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, greetTimeout, errors.New("the coordinator does not answer"))
	defer cancel()
	return client.Open(ctx, conn, a.hello(), a.start, a.anchor)
}

// Dial connects to the coordinator of the Domain Root at dir.
func Dial(ctx context.Context, dir string) (net.Conn, error) {
	endpoint, err := root.ReadEndpoint(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, root.ErrDamaged) {
		return nil, errNotRunning // should it run all the same, it holds the Domain lock
	}
	if err != nil {
		return nil, err
	}
	if err := private(filepath.Dir(endpoint.Socket)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, errNotRunning
		}
		return nil, &fault.Error{Kind: fault.Workspace, Message: "the coordinator's socket directory is not private", Err: err,
			Fix: "remove " + filepath.Dir(endpoint.Socket)}
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", endpoint.Socket)
	if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENOENT) {
		return nil, errNotRunning
	}
	if err != nil {
		return nil, fmt.Errorf("connect to coordinator: %w", err)
	}
	return conn, nil
}

// NotRunning says whether err of Dial means that nobody serves the Domain.
func NotRunning(err error) bool { return errors.Is(err, errNotRunning) }

// private makes sure that nobody else can have put a socket into dir.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || !ok || int(st.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%q is not a directory of ours alone", dir)
	}
	return nil
}

// explain turns a coordinator's refusal into the error a person sees.
func explain(err error) error {
	var refused *wire.Refused
	if !errors.As(err, &refused) {
		return err
	}
	kind := fault.Workspace
	switch refused.Code {
	case wire.CodeFingerprint, wire.CodeVersion, wire.CodeTooMany:
		kind = fault.Conflict
	case wire.CodeLaunch, wire.CodeSandboxEnded, wire.CodeExec:
		kind = fault.Sandbox
	case wire.CodeProtocol:
		kind = fault.General
	}
	return &fault.Error{Kind: kind, Message: refused.Message, Fix: refused.Fix, Err: nil}
}

// checkText refuses what the protocol cannot carry: its strings are UTF-8, and no
// argument or variable can hold a NUL.
func checkText(start wire.Start) error {
	for _, s := range append(append([]string{start.Dir, start.Name}, start.Argv...), start.Env...) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("argument %q is not text in UTF-8", s),
				Fix: "put such bytes into a file of the workspace and name the file"}
		}
	}
	return nil
}
