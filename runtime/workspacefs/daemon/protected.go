package daemon

import (
	"path"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

const (
	maxIncludes = 100 // configuration files read in all
	maxLinks    = 40  // links one path may lead through, as the kernel has it
)

// protector finds what of the workspace the host's git obeys: the files its
// configuration includes, conditions or not, and the directory it takes hooks from
// (git-config(1)).
type protector struct {
	host      tree
	workspace string // path on the host
	paths     []string
	seen      map[string]bool
}

// protected returns the paths named by the configuration of a git directory, which is
// at gitDir in the workspace or, with its configuration in outside, not in it.
func protected(host tree, workspace, gitDir string, outside []byte) []string {
	p := &protector{host: host, workspace: workspace, seen: map[string]bool{}}
	if outside != nil {
		p.take(outside, "")
	} else if gitDir != "" {
		p.file(path.Join(gitDir, "config"))
	}
	slices.Sort(p.paths)
	return slices.Compact(p.paths)
}

// file reads the configuration file at a path in the workspace.
func (p *protector) file(name string) {
	if p.seen[name] || len(p.seen) == maxIncludes {
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
			p.protect(name, p.file)
		}
	}
	for _, hooks := range file.Values("core", "", "hooksPath") {
		for _, name := range p.inside(hooks, "") { // relative to the work tree
			p.protect(name, func(string) {})
		}
	}
}

// inside returns what in the workspace a path of a configuration file may mean. Where
// the host's home is, is not known here: of a path below it every ending that fits counts.
func (p *protector) inside(name, dir string) (names []string) {
	switch {
	case strings.HasPrefix(name, p.workspace+"/"):
		return []string{path.Clean(name[len(p.workspace)+1:])}
	case strings.HasPrefix(name, "~"):
		parts := strings.Split(path.Clean(name), "/")
		for i := 1; i < len(parts)-1; i++ {
			if strings.HasSuffix(p.workspace, "/"+strings.Join(parts[1:i+1], "/")) {
				names = append(names, strings.Join(parts[i+1:], "/"))
			}
		}
		return names
	case path.IsAbs(name) || name == "":
		return nil
	}
	name = path.Join(dir, name)
	if name == "." || name == ".." || strings.HasPrefix(name, "../") {
		return nil
	}
	return []string{name}
}

// protect protects name and every link on the way, and tells then where it leads.
func (p *protector) protect(name string, then func(string)) {
	rest, at := strings.Split(name, "/"), ""
	for links := 0; len(rest) > 0; {
		next := path.Join(at, rest[0])
		rest = rest[1:]
		if next == ".." || strings.HasPrefix(next, "../") {
			return
		}
		if p.host.look(next) != route.Symlink {
			at = next
			continue
		}
		p.paths = append(p.paths, next)
		target, err := p.host.readLink(next)
		if links++; err != nil || links > maxLinks {
			return
		}
		if path.IsAbs(target) {
			inner := p.inside(target, "")
			if len(inner) != 1 {
				return
			}
			at, target = "", inner[0]
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	if at != "" && at != "." {
		p.paths = append(p.paths, at)
		then(at)
	}
}
