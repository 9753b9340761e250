// Command lazaret-escalate is the one binary of Lazaret inside the sandbox: the
// client that asks the host, the guest init, and the session wrapper. It is static
// and small; imports_test.go holds what it may link.
package main

import (
	"os"

	"lazaret.dev/lazaret/escalate/client"
	"lazaret.dev/lazaret/runtime/guest"
	"lazaret.dev/lazaret/runtime/guest/control"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case control.ModeInit:
			os.Exit(guest.InitMain(os.Args[2:]))
		case control.ModeSession:
			os.Exit(guest.SessionMain(os.Args[2:]))
		}
	}
	os.Exit(client.Main(os.Args))
}
