package leader

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Mode is the first argument of the guest binary that makes it a leader.
const Mode = "--terminal-signals"

// Descriptor is the leader's end of a stream socket to its starter. One byte is sent
// per signal, which is the signal's number, after one Ready.
//
//	starter                       leader
//	│ starts it with the terminal  │
//	│                    ◄── Ready │ nothing is lost from here on
//	│                  ◄── signal… │
//	│ closes ──►                   │ ends
const Descriptor = 3

// Ready is the byte that says the signals are caught.
const Ready = 0

// queued bounds the signals not yet told; the kernel merges what comes twice as well.
const queued = 64

// Main is the leader. It ends when its starter closes the socket.
func Main() int {
	signals := make(chan os.Signal, queued)
	// The terminal's own, and those that ask a whole session to end or to go on.
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU,
		unix.SIGWINCH, unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
	link := os.NewFile(Descriptor, "starter")
	if _, err := link.Write([]byte{Ready}); err != nil {
		fmt.Fprintf(os.Stderr, "lazaret terminal signals: %v\n", err)
		return 1
	}
	go func() {
		_, _ = link.Read(make([]byte, 1)) // nothing is ever sent: this is the end
		os.Exit(0)
	}()
	for s := range signals {
		number, _ := s.(syscall.Signal)
		if _, err := link.Write([]byte{byte(number)}); err != nil {
			return 0
		}
	}
	return 0
}
