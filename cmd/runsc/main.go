// Command runsc is gVisor's own runtime, built from the module version pinned
// in this folder's go.mod. It is a module of its own so that gVisor's large
// dependency graph never reaches Lazaret's.
package main

import (
	"gvisor.dev/gvisor/runsc/cli/maincli"
)

// version is reported by `runsc --version`; the build sets it to the pinned
// module version.
func main() { maincli.Main() }
