//go:build sandbox

package e2e_test

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/sandboxtest"
)

func source(t *testing.T) string {
	t.Helper()
	return sandboxtest.Source(t)
}

// owner is the user a file belongs to on the host.
func owner(t *testing.T, path string) int {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(info.Sys().(*syscall.Stat_t).Uid)
}

// listenUnix listens at path and returns what tells, after the deed, what the first
// connection sent; "" when none came.
func listenUnix(t *testing.T, path string) func() string {
	t.Helper()
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return taker(l)
}

// taker accepts one connection, later. What came before is in the backlog, so
// nothing need be waited for.
func taker(l net.Listener) func() string {
	return func() string {
		l.(interface{ SetDeadline(time.Time) error }).SetDeadline(time.Now().Add(100 * time.Millisecond))
		conn, err := l.Accept()
		if err != nil {
			return ""
		}
		defer conn.Close()
		conn.SetDeadline(time.Now().Add(100 * time.Millisecond))
		b, _ := io.ReadAll(conn)
		return "connected " + string(b)
	}
}
