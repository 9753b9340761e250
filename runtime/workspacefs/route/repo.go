package route

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
)

// maxRead is how much of an ignore file is read: enough to see that it is too large.
const maxRead = ignore.MaxFile + 1

type digest = [sha256.Size]byte

// A repo is one work tree: the workspace's own (which need not have a git directory)
// or a nested one, at whose root the rules of the one around it end.
type repo struct {
	root    string
	gitDir  string // where its index is; "" when that is not known
	common  string // where its info/exclude is: elsewhere for a linked work tree
	pinned  rules
	current rules
	files   map[string]*ruleFile // by path in the workspace
	differ  int                  // how many of them differ
	// trusted are the tracked paths that count, in order. now are those of the index as
	// it is; the sandbox may have written it.
	trusted []string
	now     *gitindex.Set
	packed  []byte // trusted, as a pin keeps it; nil when that is not known
}

func (p *repo) ruleFiles(list []string) []string {
	for path := range p.files {
		list = append(list, path)
	}
	if p.gitDir != "" {
		list = append(list, p.gitDir+"/index", p.common+"/info/exclude")
	}
	return list
}

// rules are ignore rules of one work tree.
type rules struct{ ignore.Rules }

// A ruleFile is one ignore file: what counts and what is there.
type ruleFile struct {
	pinned []byte // nil when there is none
	// current is the mark of what is there. The sandbox can have any number of large
	// ones, so that nothing of them is kept but what package ignore bounds.
	current digest
	differs bool
}

func noRules(path string) *ruleFile { return &ruleFile{current: mark(path, nil)} }

func (p *repo) differs() bool { return p.differ > 0 }

func (p *repo) tracked(path string) bool {
	_, ok := slices.BinarySearch(p.trusted, path)
	return ok
}

func (p *repo) trackedBelow(dir string) bool {
	if len(p.trusted) == 0 {
		return false
	}
	dir += "/"
	i, _ := slices.BinarySearch(p.trusted, dir)
	return i < len(p.trusted) && strings.HasPrefix(p.trusted[i], dir)
}

func (l *rules) ignores(dir, name string, kind Kind) bool {
	switch kind {
	case None:
		return false
	case Symlink: // it may stand for a directory
		return l.Match(dir, name, true) == ignore.Ignored || l.Match(dir, name, false) == ignore.Ignored
	}
	return l.Match(dir, name, kind == Dir) == ignore.Ignored
}

func (l *rules) ignoresAny(dir, name string, found Names) bool {
	if found.Host == None && found.Own == None {
		return l.ignores(dir, name, File)
	}
	return l.ignores(dir, name, found.Host) || found.Own != found.Host && l.ignores(dir, name, found.Own)
}

// open reads what is known of the work tree at root. r.mu is held, or r is being
// made.
func (r *Policy) open(root string) (*repo, error) {
	p := &repo{root: root, files: map[string]*ruleFile{}}
	p.gitDir, p.common = r.findGit(root)
	if err := errors.Join(p.pinned.SetGlobal(r.config.Excludes), p.current.SetGlobal(r.config.Excludes)); err != nil {
		return nil, fmt.Errorf("global ignore file: %w", err)
	}
	if err := r.readExclude(p); err != nil {
		return nil, err
	}
	if err := r.readIndex(p); err != nil {
		return nil, err
	}
	return p, r.readRules(p, root)
}

// findGit returns the path of the git directory of a work tree, if that lies in the
// workspace, and of the one it shares with others.
func (r *Policy) findGit(root string) (gitDir, common string) {
	at := join(root, gitrules.Git)
	switch r.config.Look(at) {
	case Dir:
		return at, at
	case File:
	default:
		return "", ""
	}
	gitDir = r.pointed(at, root, "gitdir: ")
	switch {
	case root == "" && (gitDir == "" || r.config.Index != nil):
		return Outside, Outside
	case gitDir == "":
		return "", ""
	}
	if common = r.pointed(gitDir+"/commondir", gitDir, ""); common == "" {
		common = gitDir
	}
	return gitDir, common
}

// pointed returns the path that a file names behind prefix, relative to dir; "" when
// it is not in the workspace.
func (r *Policy) pointed(file, dir, prefix string) string {
	content, found, err := r.read(file, 4096)
	target, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if err != nil || !found || !ok || target == "" || path.IsAbs(target) {
		return ""
	}
	if target = path.Join(dir, target); target == "." || target == ".." || strings.HasPrefix(target, "../") {
		return ""
	}
	return target
}

func (r *Policy) readExclude(p *repo) error {
	name := p.common + "/info/exclude"
	switch p.gitDir {
	case "":
		return nil
	case Outside:
		return r.start(p, name, r.config.Exclude, r.config.Exclude != nil)
	}
	content, found, err := r.read(name, maxRead)
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	return r.start(p, name, content, found)
}

func (r *Policy) readIndex(p *repo) (err error) {
	content, found, name := r.config.Index, r.config.Index != nil, p.gitDir+"/index"
	switch p.gitDir {
	case "":
		return nil
	case Outside:
	default:
		if content, found, err = r.read(name, gitindex.MaxFile+1); err != nil {
			return fmt.Errorf("read %q: %w", name, err)
		}
	}
	if found {
		if p.now, err = parseIndex(content); err != nil {
			return fmt.Errorf("read %q: %w", name, err)
		}
	}
	p.trusted, p.packed = r.config.Pins[name].apply(p.now), nil
	return nil
}

// readRules reads the .gitignore of a directory of p.
func (r *Policy) readRules(p *repo, dir string) error {
	name := join(dir, ".gitignore")
	if p.files[name] != nil {
		return nil
	}
	content, found, err := r.read(name, maxRead)
	if err != nil {
		return fmt.Errorf("read %q: %w", name, err)
	}
	if _, pinned := r.config.Pins[name]; !found && !pinned {
		return nil // it may come later
	}
	return r.start(p, name, content, found)
}

// load reads what entering d needs: its repository if it is the root of one, and its
// ignore file. What cannot be read hides everything untracked.
func (r *Policy) load(d *directory, look Look) {
	nested, rules := look(gitrules.Git) != None, look(".gitignore") == File
	p := d.parent.now().repo
	r.mu.Lock()
	defer r.mu.Unlock()
	if nested || r.repos[d.path] != nil {
		r.nestOrNot(d.path)
	}
	if r.repos[d.path] == nil && rules && r.readRules(p, d.path) != nil {
		p.blind(d.path)
	}
}

// nestOrNot makes the work tree at path one of its own if the host has a git
// directory in it, and part of the one around it otherwise. It looks for itself: who
// enters a directory may ask about one that is only about to be there. r.mu is held.
func (r *Policy) nestOrNot(path string) (changed bool) {
	if r.config.Look(join(path, gitrules.Git)) != None {
		return r.nest(path)
	}
	p := r.repos[path]
	if p == nil {
		return false
	}
	delete(r.repos, path)
	if r.wrote(p) {
		r.past[path] = p
	}
	r.generation.Add(1)
	return true
}

// wrote says that the sandbox may have written a rule file of a work tree.
func (r *Policy) wrote(p *repo) bool {
	for path := range p.files {
		if r.touched[path] {
			return true
		}
	}
	return r.touched[p.gitDir+"/index"]
}

// inherit takes over what is known of an earlier repository in the same place: the host
// may have taken it away and put it back, with what the sandbox wrote in it.
func (r *Policy) inherit(p *repo) {
	old := r.past[p.root]
	if old == nil || !r.touched[p.gitDir+"/index"] {
		return
	}
	p.trusted, p.packed = slices.DeleteFunc(p.trusted, func(path string) bool { return !old.tracked(path) }), nil
}

// counted returns what counts of a rule file that the sandbox may have written, in
// whatever work tree it was one.
func (r *Policy) counted(path string) *ruleFile {
	if !r.touched[path] {
		return nil
	}
	for _, p := range r.all() {
		if f := p.files[path]; f != nil {
			return f
		}
	}
	return nil
}

// all lists every work tree, those that are none any more first.
func (r *Policy) all() []*repo {
	list := slices.AppendSeq([]*repo{}, maps.Values(r.past))
	return append(slices.AppendSeq(list, maps.Values(r.repos)), r.top)
}

// nest makes the work tree at path one of its own. r.mu is held.
func (r *Policy) nest(path string) bool {
	if path == "" || r.repos[path] != nil {
		return false
	}
	p, err := r.open(path)
	if err != nil {
		p = &repo{root: path, files: map[string]*ruleFile{}}
		p.blind(path)
	}
	r.inherit(p)
	r.repos[path] = p
	r.pinAbove(join(path, gitrules.Git))
	r.generation.Add(1)
	return true
}

// blind hides everything untracked below a directory.
func (p *repo) blind(dir string) {
	name := join(dir, ".gitignore")
	p.files[name] = &ruleFile{pinned: []byte("*"), current: mark(name, []byte("*"))}
	_ = p.pinned.Set(p.rel(dir), []byte("*")) // one pattern is never too large
	_ = p.current.Set(p.rel(dir), []byte("*"))
}

func (p *repo) rel(dir string) string {
	return strings.TrimPrefix(strings.TrimPrefix(dir, p.root), "/")
}

// parseIndex reads an index with ids of either size.
func parseIndex(content []byte) (*gitindex.Set, error) {
	set, err := gitindex.Tracked(content, gitindex.SHA1)
	if err != nil {
		if other, failed := gitindex.Tracked(content, gitindex.SHA256); failed == nil {
			return other, nil
		}
	}
	return set, err
}
