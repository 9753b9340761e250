package attach

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
)

// Pipes connects the session to three streams until it ends, and returns the
// command's exit status. There is no terminal to ask on, so a request only gets a
// line on stderr and expires.
func Pipes(ctx context.Context, s Session, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	go send(s, stdin)
	ending := false
	end := func() {
		if ending {
			s.Close()
			return
		}
		ending = true
		s.End()
	}
	done := ctx.Done()
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				return status(nil)
			}
			if last, err := pipe(e, stdout, stderr); err != nil {
				s.Close()
				return 0, err
			} else if last {
				return status(e)
			}
		case sig := <-signals:
			if event, ok := eventOf(sig.(unix.Signal)); ok {
				s.Signal(event)
			} else {
				end()
			}
		case <-done:
			done = nil
			end()
		}
	}
}

// send passes standard input on until its end.
func send(s Session, stdin io.Reader) {
	buffer := make([]byte, wire.MaxChunk)
	for {
		n, err := stdin.Read(buffer)
		if n > 0 {
			if _, err := s.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			s.CloseInput()
			return
		}
	}
}

// pipe handles one event and says whether it was the last.
func pipe(e client.Event, stdout, stderr io.Writer) (last bool, err error) {
	switch e := e.(type) {
	case client.Output:
		w := stdout
		if e.Stream == wire.StreamStderr {
			w = stderr
		}
		_, err = w.Write(e.Data)
	case client.Notice:
		fmt.Fprintln(stderr, noticeLine(e))
	case client.Pending:
		fmt.Fprintln(stderr, undecided(e))
	case client.Resolved:
		fmt.Fprintln(stderr, resolvedLine(e))
	case client.Exit, client.Lost:
		return true, nil
	}
	if err != nil {
		err = fmt.Errorf("write output of session: %w", err)
	}
	return false, err
}

// undecided says what is asked, and that nobody can answer here.
func undecided(e client.Pending) string {
	p := e.Pending
	left := time.Until(time.Unix(p.ExpiresUnix, 0)).Round(time.Second)
	return fmt.Sprintf("lazaret: the sandbox asks to run on this host: %s\n"+
		"  There is no terminal here to decide on, so it will be denied in %v.\n"+
		"  To decide, run the session in a terminal, or start lazaret without a command.", quoteArgv(p.Request.Argv), max(left, 0))
}
