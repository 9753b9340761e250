// Command lazaret-escalate is the one binary of Lazaret inside the sandbox: the
// client that asks the host, the guest init, and the session wrapper. Outside, in the
// supervisor's own root, it is the leader of each terminal session. It is static and
// small; imports_test.go holds what it may link.
package main

import (
	"os"

	"lazaret.dev/lazaret/escalate/client"
	"lazaret.dev/lazaret/runtime/guest"
	"lazaret.dev/lazaret/runtime/guest/control"
	"lazaret.dev/lazaret/runtime/leader"
)

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case control.ModeInit:
			os.Exit(guest.InitMain(os.Args[2:]))
		case control.ModeSession:
			os.Exit(guest.SessionMain(os.Args[2:]))
		case leader.Mode:
			os.Exit(leader.Main())
		}
	}
	os.Exit(client.Main(os.Args))
}
