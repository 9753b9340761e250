package route

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// HostChanged follows a change made on the host.
func (r *Policy) HostChanged(path string, read func(int64) ([]byte, error)) (bool, error) {
	if dir, name := split(path); name == gitrules.Git {
		return r.hostGit(dir)
	}
	return r.changed(path, read, r.adopt, (*repo).hostIndex)
}

// GuestChanged follows a change that the sandbox made.
func (r *Policy) GuestChanged(path string, read func(int64) ([]byte, error)) (bool, error) {
	return r.changed(path, read, r.suspect, (*repo).guestIndex)
}

type (
	setRule  func(p *repo, path string, content []byte) (bool, error)
	setIndex func(p *repo, now *gitindex.Set) bool
)

func (r *Policy) changed(path string, read func(int64) ([]byte, error), rule setRule, index setIndex) (outdated bool, err error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	owners, isIndex := r.owners(path)
	if len(owners) == 0 {
		return false, nil
	}
	content, now, err := take(isIndex, read)
	if err != nil {
		return false, fmt.Errorf("read %q: %w", path, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range owners {
		changed := false
		if isIndex {
			changed = index(p, now)
		} else if changed, err = rule(p, path, content); err != nil {
			err = fmt.Errorf("read %q: %w", path, err)
		}
		outdated = outdated || changed
	}
	if outdated {
		r.generation.Add(1)
	}
	return outdated, err
}

// take reads a rule file; its content is nil when there is none. An index is
// understood before anybody has to wait for it.
func take(isIndex bool, read func(int64) ([]byte, error)) (content []byte, now *gitindex.Set, err error) {
	limit := int64(maxRead)
	if isIndex {
		limit = gitindex.MaxFile + 1
	}
	content, err = read(limit)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err == nil && isIndex {
		now, err = parseIndex(content)
	}
	return orEmpty(content), now, err
}

// hostGit follows a git directory that the host made or removed.
func (r *Policy) hostGit(dir string) (bool, error) {
	r.changing.Lock()
	defer r.changing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if dir != "" {
		return r.nestOrNot(dir), nil
	}
	p := r.top
	if p.gitDir != "" {
		return false, nil // it is pinned, and what was known of it goes on to hide
	}
	if p.gitDir, p.common = r.findGit(""); p.gitDir == "" {
		return false, nil
	}
	r.generation.Add(1)
	return true, errors.Join(r.readExclude(p), r.readIndex(p))
}

// owners returns the work trees a path is a rule file of, and whether it is an index.
func (r *Policy) owners(path string) (owners []*repo, index bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	dir, name := split(path)
	if name == ".gitignore" {
		return []*repo{r.repoOf(dir)}, false
	}
	if name != "index" && name != "exclude" {
		return nil, false
	}
	if r.top.owns(path) {
		owners = append(owners, r.top)
	}
	for _, p := range r.repos {
		if p.owns(path) {
			owners = append(owners, p)
		}
	}
	return owners, name == "index"
}

func (p *repo) owns(path string) bool {
	return p.gitDir != "" && (path == p.gitDir+"/index" || path == p.common+"/info/exclude")
}

func (r *Policy) repoOf(dir string) *repo {
	for ; dir != ""; dir, _ = split(dir) {
		if p := r.repos[dir]; p != nil {
			return p
		}
	}
	return r.top
}

// start takes in a rule file for the first time. What the sandbox wrote in an
// earlier generation does not count.
func (r *Policy) start(p *repo, path string, content []byte, found bool) error {
	content = present(content, found)
	pinned := content
	if pin := r.config.Pins[path]; pin.Guest && (pin.Written == mark(path, content) || pin.Open()) {
		pinned = present(pin.Content, !pin.Absent)
	}
	if known := r.counted(path); known != nil {
		pinned = known.pinned
	}
	if !same(pinned, content) {
		r.remember(version{path, mark(path, content)})
	}
	if err := p.setFile(path, pinned, content); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// adopt takes what the host wrote as the rule, unless the sandbox wrote the same: git
// on the host puts there what was committed inside.
func (r *Policy) adopt(p *repo, path string, content []byte) (bool, error) {
	f, pinned := p.file(path), content
	if r.suspected(version{path, mark(path, content)}) {
		pinned = f.pinned
	}
	return p.replace(path, f, pinned, content)
}

// suspect takes what the sandbox wrote as what is there, and leaves the rule.
func (r *Policy) suspect(p *repo, path string, content []byte) (bool, error) {
	f := p.file(path)
	if !same(content, f.pinned) {
		r.remember(version{path, mark(path, content)})
	}
	return p.replace(path, f, f.pinned, content)
}

// maxWritten bounds what is remembered of the sandbox's rule files. Beyond it nothing
// the host writes is adopted until the next generation.
const maxWritten = 1 << 16

// A version is one content that a rule file has had.
type version struct {
	path    string
	content digest
}

func (r *Policy) remember(v version) {
	if len(r.written) < maxWritten {
		r.written[v] = true
	}
}

func (r *Policy) suspected(v version) bool { return r.written[v] || len(r.written) >= maxWritten }

// mark is what a rule file's content is remembered by; nil stands for its removal.
func mark(path string, content []byte) digest {
	if content == nil {
		return sha256.Sum256([]byte("\x00removed\x00" + path))
	}
	return sha256.Sum256(content)
}

// present returns content so that nil means there is none.
func present(content []byte, found bool) []byte {
	if !found {
		return nil
	}
	return orEmpty(content)
}

// file returns what is known of a rule file; one never seen is not there.
func (p *repo) file(path string) *ruleFile {
	if f := p.files[path]; f != nil {
		return f
	}
	return noRules(path)
}

func (p *repo) replace(path string, old *ruleFile, pinned, current []byte) (bool, error) {
	if same(old.pinned, pinned) && old.current == mark(path, current) {
		p.files[path] = old
		return false, nil
	}
	return true, p.setFile(path, pinned, current)
}

// setFile puts the two contents of a rule file in force. After an error what cannot
// be understood ignores everything below.
func (p *repo) setFile(path string, pinned, current []byte) error {
	f := &ruleFile{pinned: pinned, current: mark(path, current), differs: !same(pinned, current)}
	if old := p.files[path]; old != nil && old.differs {
		p.differ--
	}
	if f.differs {
		p.differ++
	}
	p.files[path] = f
	return errors.Join(p.setRules(&p.pinned, path, pinned), p.setRules(&p.current, path, current))
}

func (p *repo) setRules(in *rules, path string, content []byte) error {
	dir, name := split(path)
	set := func(content []byte) error { return in.Set(p.rel(dir), content) }
	if name != ".gitignore" {
		set = in.SetExclude
	}
	err := set(content)
	if err != nil {
		_ = set([]byte("*")) // one pattern is never too large
	}
	return err
}

// guestIndex: what the sandbox adds does not become tracked, and what it removes stays
// so, until the host's own index says otherwise.
func (p *repo) guestIndex(now *gitindex.Set) bool {
	p.now = now
	return p.differs()
}

// hostIndex applies what the host changed: the difference to the index as it was
// known, so that a mere rewrite by the host's git takes over nothing of the sandbox's.
func (p *repo) hostIndex(now *gitindex.Set) bool {
	var trusted []string
	for path := range now.All() {
		if !strings.HasSuffix(path, "/") && (!p.now.Has(path) || p.tracked(path)) {
			trusted = append(trusted, path)
		}
	}
	for _, path := range p.trusted {
		if !now.Has(path) && !p.now.Has(path) {
			trusted = append(trusted, path)
		}
	}
	slices.Sort(trusted)
	trusted = slices.Compact(trusted)
	changed := !slices.Equal(trusted, p.trusted)
	if changed {
		p.packed = nil
	}
	p.trusted, p.now = trusted, now
	return changed
}

func same(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }

func orEmpty(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
