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
	// Content is what the host had. For an index it is one of
	//
	//	+path NUL -path NUL ...   what the sandbox added to the paths that count, and removed
	//	= packed                  the paths that count, see pack
	//	*                         there were too many of them: none counts
	Content []byte
	Absent  bool // the host had no such file
	// Guest says that the sandbox wrote the file last, and Written is the digest of that:
	// of its content, or of the paths of an index. It is zero while the pin is open.
	Guest   bool
	Written [sha256.Size]byte
}

// Open says that the sandbox may have been writing the file when the pin was made: what is
// found there afterwards is the sandbox's.
func (pin Pin) Open() bool { return pin.Written == digest{} }

// The forms of an index's pin.
const (
	formPacked  = '='
	formNothing = '*'
)

// maxDifference bounds the form that lists what is different, in bytes.
const maxDifference = 1 << 20

// Expect says that the sandbox is about to change, make or remove the rule file at path.
// What the host has there counts from before, and from now on its pin is open. It reports
// whether any answer changed. What cannot be read hides everything untracked beside it.
func (r *Policy) Expect(path string) (outdated bool) {
	r.changing.Lock()
	defer r.changing.Unlock()
	owners, _ := r.owners(path)
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(owners) == 0 {
		return false
	}
	r.touched[path] = true
	dir, name := split(path)
	if name != ".gitignore" || owners[0].files[path] != nil {
		return false
	}
	return r.meet(owners[0], dir, path)
}

// meet takes in an ignore file that nothing is known of. r.mu is held.
func (r *Policy) meet(p *repo, dir, path string) (outdated bool) {
	content, found, err := r.read(path, maxRead)
	if err != nil {
		p.blind(dir)
	} else {
		_ = r.start(p, path, content, found) // what is too large hides everything
	}
	if found || err != nil {
		r.generation.Add(1)
		return true
	}
	return false
}

// Unexpect takes Expect back: the sandbox was refused what it was about to do.
func (r *Policy) Unexpect(path string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.touched, path)
}

// Moving says that the sandbox is about to rename a directory, and returns the rule files
// below, under the old path and the new: Expect and then GuestChanged are due for each.
// What comes to the new paths is not taken for the host's.
func (r *Policy) Moving(from, to string) (paths []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var below []string
	for _, p := range r.all() {
		for path := range p.files {
			if rest, ok := strings.CutPrefix(path, from+"/"); ok {
				below = append(below, rest)
			}
		}
	}
	for _, rest := range below {
		dir, _ := split(to + "/" + rest)
		if p := r.repoOf(dir); p.files[to+"/"+rest] == nil {
			p.files[to+"/"+rest] = noRules(to + "/" + rest)
		}
		paths = append(paths, from+"/"+rest, to+"/"+rest)
	}
	return paths
}

// Pins returns what has to outlive a crash now, by path: of whatever the sandbox has
// come to write, what the host had.
func (r *Policy) Pins() map[string]Pin { return r.allPins(true) }

// LastPins returns what has to outlive the generation, when the sandbox has ended.
func (r *Policy) LastPins() map[string]Pin { return r.allPins(false) }

func (r *Policy) allPins(open bool) map[string]Pin {
	r.mu.Lock() // an index is packed once
	defer r.mu.Unlock()
	pins := map[string]Pin{}
	for path, pin := range r.config.Pins {
		pins[path] = pin // also of what this generation did not come across
	}
	for _, p := range r.all() {
		p.pins(pins, func(path string) bool { return open && r.touched[path] })
	}
	return pins
}

func (p *repo) pins(into map[string]Pin, open func(path string) bool) {
	for path, f := range p.files {
		delete(into, path)
		pin := Pin{Content: f.pinned, Absent: f.pinned == nil, Guest: true, Written: f.current}
		if open(path) {
			pin.Written = digest{}
		}
		if f.differs || open(path) {
			into[path] = pin
		}
	}
	if p.gitDir == "" {
		return
	}
	index := p.gitDir + "/index"
	delete(into, index)
	if open(index) {
		into[index] = p.openIndex()
	} else if pin := p.lastIndex(); len(pin.Content) > 0 {
		into[index] = pin
	}
}

// openIndex is the pin of an index that the sandbox may be writing.
func (p *repo) openIndex() Pin {
	if p.packed == nil {
		content := append([]byte{formPacked}, pack(p.trusted)...)
		if len(content) > maxPacked {
			content = []byte{formNothing}
		}
		p.packed = content
	}
	return Pin{Content: p.packed, Guest: true, Written: sha256.Sum256(p.packed)}
}

// lastIndex is the pin of an index that nobody writes any more.
func (p *repo) lastIndex() Pin {
	if p.same() {
		return Pin{}
	}
	if difference := p.difference(); len(difference) <= maxDifference {
		return Pin{Content: difference, Guest: true, Written: sha256.Sum256(difference)}
	}
	pin := p.openIndex()
	pin.Written = digestOf(p.now)
	return pin
}

// same says that the index as it is has the paths that count.
func (p *repo) same() bool {
	i := 0
	for path := range p.now.All() {
		if strings.HasSuffix(path, "/") {
			continue
		}
		if i == len(p.trusted) || p.trusted[i] != path {
			return false
		}
		i++
	}
	return i == len(p.trusted)
}

// difference lists how the index as it is differs from the paths that count. It stops
// when that is too much for a pin.
func (p *repo) difference() []byte {
	var out bytes.Buffer
	for path := range p.now.All() {
		if !p.tracked(path) && !strings.HasSuffix(path, "/") {
			out.WriteString("+" + path + "\x00")
		}
		if out.Len() > maxDifference {
			return out.Bytes()
		}
	}
	for _, path := range p.trusted {
		if !p.now.Has(path) {
			out.WriteString("-" + path + "\x00")
		}
		if out.Len() > maxDifference {
			return out.Bytes()
		}
	}
	return out.Bytes()
}

// apply returns the paths that count of an index found at the start.
func (pin Pin) apply(found *gitindex.Set) []string {
	if len(pin.Content) > 0 {
		switch pin.Content[0] {
		case formNothing:
			return nil
		case formPacked:
			return pin.unpacked(found)
		}
	}
	return pin.corrected(found)
}

// unpacked is apply for the paths themselves. Where somebody has written the index since,
// who that was is not known: what is in it and counted before counts.
func (pin Pin) unpacked(found *gitindex.Set) []string {
	paths, err := unpack(pin.Content[1:])
	if err != nil {
		return nil
	}
	if pin.Written == digestOf(found) {
		return paths
	}
	return slices.DeleteFunc(paths, func(path string) bool { return !found.Has(path) })
}

// corrected is apply for a difference.
func (pin Pin) corrected(found *gitindex.Set) []string {
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
