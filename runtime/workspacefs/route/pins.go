package route

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
)

// Pin is what stays in force of a rule file that the sandbox wrote last, until the
// developer accepts the file or changes it.
type Pin struct {
	// Content is what the host had. For an index it is the difference instead: a line
	// "+path" for each path that the sandbox added, "-path" for each it removed, ended by NUL.
	Content []byte
	Absent  bool // the host had no such file
	// Guest says that the sandbox wrote the file last, and Written is the digest of that.
	Guest   bool
	Written [sha256.Size]byte
}

// Pins returns what has to outlive the generation, by path.
func (r *Policy) Pins() map[string]Pin {
	r.mu.RLock()
	defer r.mu.RUnlock()
	pins := map[string]Pin{}
	for path, pin := range r.config.Pins {
		pins[path] = pin // also of what this generation did not come across
	}
	r.top.pins(pins)
	for _, p := range r.repos {
		p.pins(pins)
	}
	return pins
}

func (p *repo) pins(into map[string]Pin) {
	delete(into, p.gitDir+"/index")
	for path, f := range p.files {
		delete(into, path)
		if f.differs {
			into[path] = Pin{Content: f.pinned, Absent: f.pinned == nil, Guest: true, Written: mark(path, f.current)}
		}
	}
	if difference := p.difference(); len(difference) > 0 {
		into[p.gitDir+"/index"] = Pin{Content: difference, Guest: true, Written: sha256.Sum256(difference)}
	}
}

// difference is the content of an index's pin.
func (p *repo) difference() []byte {
	var out bytes.Buffer
	for path := range p.now.All() {
		if !p.tracked(path) && !strings.HasSuffix(path, "/") {
			out.WriteString("+" + path + "\x00")
		}
	}
	for _, path := range p.trusted {
		if !p.now.Has(path) {
			out.WriteString("-" + path + "\x00")
		}
	}
	return out.Bytes()
}

// apply returns the paths that count of an index found at the start.
func (pin Pin) apply(found *gitindex.Set) []string {
	added, removed := map[string]bool{}, []string{}
	for line := range strings.SplitSeq(string(pin.Content), "\x00") {
		switch {
		case line == "":
		case line[0] == '+':
			added[line[1:]] = true
		case line[0] == '-' && !found.Has(line[1:]):
			removed = append(removed, line[1:])
		}
	}
	paths := make([]string, 0, found.Len()+len(removed))
	for path := range found.All() {
		if !added[path] && !strings.HasSuffix(path, "/") {
			paths = append(paths, path)
		}
	}
	paths = append(paths, removed...)
	slices.Sort(paths)
	return slices.Compact(paths)
}
