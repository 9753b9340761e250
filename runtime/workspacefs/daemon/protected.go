package daemon

import (
	"path"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

const (
	maxIncludes = 100  // configuration files read in all
	maxLinks    = 40   // links one path may lead through, as the kernel has it
	maxHooks    = 1000 // entries of a directory of hooks
	maxPointer  = 4096 // bytes of a file that names a directory
)

// protector finds what of the workspace the host's git obeys in one work tree: the
// files its configuration includes, conditions or not, the directory it takes hooks from, the
// programs it names by a path, and what hooks are links to (git-config(1), githooks(5)).
type protector struct {
	host      tree
	workspace string // path on the host
	root      string // the work tree, below the workspace
	paths     []string
	seen      map[string]bool
}

// protected returns that for the work tree at root, whose git directory lies in the
// workspace.
func protected(host tree, workspace, root string) []string {
	p := &protector{host: host, workspace: workspace, root: root, seen: map[string]bool{}}
	gitDir, common := p.gitDir()
	if gitDir == "" {
		return nil
	}
	p.file(path.Join(common, "config"))
	p.file(path.Join(gitDir, "config.worktree"))
	p.hooks(path.Join(common, "hooks"))
	return p.all()
}

// protectedOutside is protected for the workspace itself where its git directory is
// elsewhere: at the path common on the host, with a part for this work tree at admin.
func protectedOutside(host tree, workspace string, outside tree, common, admin string) []string {
	p := &protector{host: host, workspace: workspace, seen: map[string]bool{}}
	for _, name := range []string{"config", path.Join(admin, "config.worktree")} {
		if data, err := outside.read(name, gitconfig.MaxFile); err == nil {
			p.take(data, path.Join(common, path.Dir(name)))
		}
	}
	hooks, _ := surveyed{outside}.ReadDir("hooks", maxHooks)
	for _, hook := range hooks {
		target, err := outside.readLink(path.Join("hooks", hook.Name))
		if err != nil {
			continue // no link
		}
		for _, name := range p.inside(target, path.Join(common, "hooks")) {
			p.protect(name)
		}
	}
	return p.all()
}

func (p *protector) all() []string {
	slices.Sort(p.paths)
	return slices.Compact(p.paths)
}

// gitDir returns where the git directory of the work tree is, and the one that it
// shares with others; "" when that is not in the workspace.
func (p *protector) gitDir() (gitDir, common string) {
	at := p.resolve(path.Join(p.root, gitrules.Git))
	switch p.host.look(at) {
	case route.Dir:
		gitDir = at
	case route.File:
		gitDir = p.pointed(at, p.root, "gitdir: ")
	}
	if gitDir == "" {
		return "", ""
	}
	if common = p.pointed(path.Join(gitDir, "commondir"), gitDir, ""); common == "" {
		common = gitDir
	}
	return gitDir, common
}

// pointed returns the path that a file names behind prefix, relative to dir.
func (p *protector) pointed(file, dir, prefix string) string {
	content, err := p.host.read(file, maxPointer)
	target, ok := strings.CutPrefix(strings.TrimRight(string(content), "\r\n"), prefix)
	if err != nil || !ok {
		return ""
	}
	names := p.inside(target, dir)
	if len(names) != 1 || strings.HasPrefix(target, "~") {
		return ""
	}
	return p.resolve(names[0])
}

// file reads the configuration file at a path in the workspace.
func (p *protector) file(name string) {
	if name == "" || p.seen[name] || len(p.seen) == maxIncludes {
		return
	}
	p.seen[name] = true
	if data, err := p.host.read(name, gitconfig.MaxFile); err == nil {
		p.take(data, path.Dir(name))
	}
}

// take takes in the content of a configuration file in the directory dir. What git
// refuses to read has no effect.
func (p *protector) take(data []byte, dir string) {
	file, err := gitconfig.Parse(data)
	if err != nil {
		return
	}
	for _, include := range file.Includes() {
		for _, name := range p.inside(include.Path, dir) {
			p.file(p.protect(name))
		}
	}
	for v := range file.All() {
		if v.Section == "core" && v.Key == "hookspath" {
			for _, name := range p.inside(v.Value, p.root) {
				p.hooks(p.protect(name))
			}
		} else if starts[v.Section] {
			p.programs(v.Value)
		}
	}
}

// hooks protects what the entries of a directory of hooks are links to.
func (p *protector) hooks(dir string) {
	if dir == "" {
		return
	}
	if at := p.resolve(dir); at != dir && at != "" {
		p.paths = append(p.paths, at)
		dir = at
	}
	entries, _ := surveyed{p.host}.ReadDir(dir, maxHooks) // none where there is no such directory
	for _, e := range entries {
		if e.Kind == route.Symlink {
			p.protect(path.Join(dir, e.Name))
		}
	}
}

// starts are the sections of the configuration whose values git starts programs by, or
// reads files by, without being asked for just that.
var starts = map[string]bool{"core": true, "credential": true, "diff": true, "difftool": true, "filter": true, "gpg": true, "hook": true,
	"init": true, "interactive": true, "merge": true, "mergetool": true, "pager": true, "sequence": true, "trailer": true, "uploadpack": true}

// programs protects the files that words of a value name by a path. Without a slash it is
// a program of the search path.
func (p *protector) programs(value string) {
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t\n'\"`;&|<>()=$,{}!", r) }) {
		if !strings.Contains(word, "/") {
			continue
		}
		for _, name := range p.inside(word, p.root) {
			if at := p.resolve(name); at != "" && p.host.look(at) != route.Dir {
				p.paths = append(p.paths, at)
			}
		}
	}
}

// inside returns what in the workspace a path of a configuration file may mean; dir is
// below the workspace, or where it is on the host. Where the host's home is, is not known
// here: of a path below it every ending that fits counts.
func (p *protector) inside(name, dir string) (names []string) {
	switch {
	case name == "":
		return nil
	case strings.HasPrefix(name, "~"):
		parts := strings.Split(path.Clean(name), "/")
		for i := 1; i < len(parts)-1; i++ {
			if strings.HasSuffix(p.workspace, "/"+strings.Join(parts[1:i+1], "/")) {
				names = append(names, strings.Join(parts[i+1:], "/"))
			}
		}
		return names
	case !path.IsAbs(name):
		name = path.Join(dir, name)
	}
	if path.IsAbs(name) {
		below, ok := strings.CutPrefix(path.Clean(name), p.workspace+"/")
		if !ok {
			return nil
		}
		return []string{below}
	}
	if name == "." || name == ".." || strings.HasPrefix(name, "../") {
		return nil
	}
	return []string{name}
}

// protect protects what resolve finds, and returns it.
func (p *protector) protect(name string) string {
	at := p.resolve(name)
	if at != "" {
		p.paths = append(p.paths, at)
	}
	return at
}

// resolve protects every link on the way of a path below the workspace and returns where
// it leads, "" when that is not in the workspace.
func (p *protector) resolve(name string) string {
	rest, at := strings.Split(name, "/"), ""
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if next == ".." || strings.HasPrefix(next, "../") {
			return ""
		}
		if p.host.look(next) != route.Symlink {
			at = next
			continue
		}
		p.paths = append(p.paths, next)
		target, err := p.host.readLink(next)
		if links++; err != nil || links > maxLinks {
			return ""
		}
		if path.IsAbs(target) {
			inner := p.inside(target, "")
			if len(inner) != 1 {
				return ""
			}
			at, target = "", inner[0]
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if at == "." {
		return ""
	}
	return at
}
