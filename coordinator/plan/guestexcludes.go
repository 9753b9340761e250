package plan

import (
	"bytes"
	"fmt"

	"lazaret.dev/lazaret/runtime"
)

// guestExcludes is the file of Git's global ignore rules inside: the developer's own, and
// every name that may be an empty stand-in there, which `git add --all` would put into
// the next commit.
func guestExcludes(p runtime.WorkspacePolicy) runtime.GuestFile {
	var out bytes.Buffer
	for _, pattern := range p.Secrets {
		fmt.Fprintln(&out, pattern)
	}
	for _, example := range []string{"*.example", "*.sample", "*.template"} {
		fmt.Fprintln(&out, "!"+example)
	}
	out.Write(p.GlobalExcludes)
	return runtime.GuestFile{Path: runtime.GuestGitExcludes, Mode: 0o644, Data: out.Bytes()}
}
