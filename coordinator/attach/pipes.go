package attach

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
)

// Pipes connects the session to three streams until it ends, and returns the
// command's exit status. There is no terminal to ask on, so every request is
// denied as it comes, with a line on stderr: waiting for a decision that nobody can
// make would only hold up whoever asked.
func Pipes(ctx context.Context, s Session, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGHUP)
	defer signal.Stop(signals)
	go send(s, stdin)
	ending := false
	end := func() {
		if ending {
			_ = s.Close()
			return
		}
		ending = true
		_ = s.End()
	}
	done := ctx.Done()
	for {
		select {
		case e, ok := <-s.Events():
			if !ok {
				return status(nil)
			}
			if p, asked := e.(client.Pending); asked {
				if err := s.Decide(p.Pending, escalate.VerdictDeny, nil, noTerminal); err != nil {
					fmt.Fprintln(stderr, "lazaret: the request could not be denied: "+err.Error())
				}
			}
			if last, err := pipe(e, stdout, stderr); err != nil {
				_ = s.Close()
				return 0, err
			} else if last {
				return status(e)
			}
		case sig := <-signals:
			if event, ok := eventOf(sig.(unix.Signal)); ok {
				_ = s.Signal(event)
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
			_ = s.CloseInput()
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

// noTerminal is why a request was denied, as its asker reads it.
const noTerminal = "this session has no terminal to decide on"

// undecided says what is asked, and that nobody can answer here.
func undecided(e client.Pending) string {
	return "lazaret: the sandbox asks to run on this host: " + quoteArgv(e.Pending.Request.Argv) + "\n" +
		"  There is no terminal here to decide on, so it is denied.\n" +
		"  To decide, run the session in a terminal, or start lazaret without a command."
}
