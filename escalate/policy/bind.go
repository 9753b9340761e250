package policy

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// maxBound and maxBoundBytes bound what a plan is held to, and with it how long
	// judging takes.
	maxBound      = 64
	maxBoundBytes = 4 * MaxCopy
	// maxShebang is as much of a script's first line as the kernel reads.
	maxShebang = 256
)

// bindScripts binds the plan to the files of the sandbox that it runs as code: the
// scripts an interpreter or a wrapper is given, and the interpreters those name in
// their first lines.
func (plan *Plan) bindScripts() {
	for _, o := range plan.policy.operands(plan) {
		if o.code || plan.known(interpreters) {
			plan.bind(o)
		}
	}
	// What is appended meanwhile is looked at too: an interpreter may be a script.
	for i := 0; i < len(plan.Files); i++ {
		for _, name := range plan.shebang(i) {
			if o, ok := plan.policy.operand(name, plan.Dir); ok {
				plan.bind(o)
			}
		}
	}
}

// bind holds the plan to o as it is now, or remembers that it could not be.
func (plan *Plan) bind(o operand) {
	var bytes int64
	for _, f := range plan.Files {
		if f.Path == o.real {
			return
		}
		bytes += f.Size
	}
	if len(plan.Files) < maxBound && bytes <= maxBoundBytes {
		if f, _, err := capture(o.root, o.real, hashOnly); err == nil {
			plan.Files = append(plan.Files, f)
			return
		}
	}
	if !slices.Contains(plan.loose, o.name) {
		plan.loose = append(plan.loose, o.name)
	}
}

// shebang returns the words of the first line of a bound file when that names an
// interpreter.
func (plan *Plan) shebang(i int) []string {
	head := make([]byte, maxShebang)
	f, err := plan.reopen(i)
	if err != nil {
		return nil
	}
	defer f.Close()
	n, err := io.ReadFull(f, head)
	if n == 0 || err != nil && n == len(head) {
		return nil
	}
	line, _, _ := bytes.Cut(head[:n], []byte("\n"))
	rest, ok := bytes.CutPrefix(line, []byte("#!"))
	if !ok {
		return nil
	}
	return strings.Fields(string(rest))
}

// reopen opens a bound file at its beginning: the copy, where there is one.
func (plan *Plan) reopen(i int) (*os.File, error) {
	f := plan.Files[i]
	if f.Copied && plan.copy != nil {
		return os.Open(fmt.Sprintf("/proc/self/fd/%d", plan.copy.Fd()))
	}
	return openResident(plan.policy.residence(f.Path), f.Path)
}

// operand returns the regular file of the sandbox that name means, if it is one.
func (p *Policy) operand(name, dir string) (operand, bool) {
	real, err := filepath.EvalSymlinks(absolute(name, dir))
	if err != nil {
		return operand{}, false
	}
	root := p.residence(real)
	if root == "" {
		return operand{}, false
	}
	code, regular := inspect(root, real)
	return operand{name: name, real: real, root: root, code: code}, regular
}
