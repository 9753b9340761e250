// Command runsc is gVisor's own runtime, built from the module version pinned
// in this folder's go.mod. It is a module of its own so that gVisor's large
// dependency graph never reaches Lazaret's.
package main

import (
	"gvisor.dev/gvisor/runsc/cli/maincli"
)

// main is gVisor's; the build tells it the pinned module version.
func main() { maincli.Main() }
