package outer

import (
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// stopTime is how long a stop may take to happen. It also runs while the process is
// stopped, so after a real stop it has always passed.
const stopTime = 300 * time.Millisecond

// Suspend gives the terminal back, stops this process and its group as Ctrl-Z
// would, and returns once the process continues and has the terminal again. The
// whole group is stopped, so that a make or a script that started the dashboard
// gives way to the shell too.
func (s *Screen) Suspend() {
	s.pause()
	_ = s.terminal.Restore()
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	if err := unix.Kill(0, unix.SIGTSTP); err == nil {
		select {
		case <-continued:
		case <-time.After(stopTime):
			// An orphaned process group, such as a terminal's first process,
			// cannot be stopped: nothing could continue it.
		}
	}
	signal.Stop(continued)
	_ = s.terminal.Enter(s.features)
	s.resume()
}

// Reenter sets the terminal's modes again after this process was stopped by a
// signal it could not see coming.
func (s *Screen) Reenter() {
	s.pause()
	_ = s.terminal.Restore()
	_ = s.terminal.Enter(s.features)
	s.resume()
}
