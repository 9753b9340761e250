package state

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
)

// safe is a configuration written anew.
type safe struct {
	text    string
	hash    int      // bytes of an object id
	dropped []string // names of settings left out
}

// Addresses a remote may have: a web server or ssh, with plain characters only, so
// that no part can be taken for an option or another transport (git-remote-ext runs
// commands).
var (
	webURL   = expression(`^https?://(?:[A-Za-z0-9._~%!$&'()*+,;=:-]+@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?(?:/[!-~]*)?$`)
	sshURL   = expression(`^ssh://(?:[A-Za-z0-9][A-Za-z0-9._-]*@)?[A-Za-z0-9][A-Za-z0-9.-]*(?::[0-9]{1,5})?/[!-~]*$`)
	scpURL   = expression(`^[A-Za-z0-9][A-Za-z0-9._-]*@[A-Za-z0-9][A-Za-z0-9.-]*:[A-Za-z0-9~/_.][!-9;-~]*$`)
	refspec  = expression(`^\+?refs/[A-Za-z0-9._/*-]+:refs/[A-Za-z0-9._/*-]+$`)
	nickname = expression(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
)

const maxURL = 2048

func safeURL(url string) bool {
	return len(url) <= maxURL && (webURL().MatchString(url) || sshURL().MatchString(url) || scpURL().MatchString(url))
}

// remote and branch are what is kept of the sections of these names.
type remote struct{ urls, fetch []string }

type branch struct{ remote, merge string }

// config collects what is kept.
type configuration struct {
	core     map[string]string
	format   string // extensions.objectformat
	remotes  map[string]*remote
	branches map[string]*branch
	dropped  map[string]bool
}

// safeConfig rewrites a git configuration from the few settings that make git run
// nothing and read nothing elsewhere. What git could not do without is an error:
// another storage of references, a partial clone.
func safeConfig(data []byte) (safe, error) {
	file, err := gitconfig.Parse(data)
	if err != nil {
		return safe{}, err
	}
	c := configuration{core: map[string]string{}, remotes: map[string]*remote{}, branches: map[string]*branch{}, dropped: map[string]bool{}}
	for v := range file.All() {
		taken, err := c.take(v)
		if err != nil {
			return safe{}, err
		}
		if !taken {
			c.dropped[settingName(v)] = true
		}
	}
	return c.finish()
}

func settingName(v gitconfig.Var) string {
	if v.Named {
		return v.Section + "." + v.Subsection + "." + v.Key
	}
	return v.Section + "." + v.Key
}

// take keeps v if it is one of the safe ones.
func (c *configuration) take(v gitconfig.Var) (bool, error) {
	switch {
	case v.Section == "core" && !v.Named:
		return c.takeCore(v.Key, v.Value), nil
	case v.Section == "extensions" && !v.Named:
		return c.takeExtension(v.Key, v.Value)
	case v.Section == "remote" && v.Named && nickname().MatchString(v.Subsection):
		return c.takeRemote(v)
	case v.Section == "branch" && v.Named && validRef("refs/heads/"+v.Subsection):
		return c.takeBranch(v), nil
	}
	return false, nil
}

func (c *configuration) takeCore(key, value string) bool {
	switch {
	case key == "repositoryformatversion" && (value == "0" || value == "1"):
	case (key == "filemode" || key == "bare") && (value == "true" || value == "false"):
	default:
		return false
	}
	c.core[key] = value
	return true
}

func (c *configuration) takeExtension(key, value string) (bool, error) {
	switch key {
	case "objectformat":
		if value != "sha1" && value != "sha256" {
			return false, fmt.Errorf("its objects have the format %q", value)
		}
		c.format = value
		return true, nil
	case "refstorage":
		if value == "files" {
			return false, nil
		}
		return false, fmt.Errorf("its references are stored as %q, which is not looked into", value)
	case "partialclone":
		return false, errors.New("it is a partial clone: git would fetch the rest when it likes")
	case "compatobjectformat":
		return false, errors.New("it keeps objects in two formats")
	}
	return false, nil
}

func (c *configuration) takeRemote(v gitconfig.Var) (bool, error) {
	r := c.remotes[v.Subsection]
	if r == nil {
		r = &remote{}
		c.remotes[v.Subsection] = r
	}
	switch {
	case v.Key == "promisor" && v.Value != "false":
		return false, errors.New("it is a partial clone: git would fetch the rest when it likes")
	case v.Key == "url" && safeURL(v.Value):
		r.urls = append(r.urls, v.Value)
	case v.Key == "fetch" && refspec().MatchString(v.Value) && !strings.Contains(v.Value, ".."):
		r.fetch = append(r.fetch, v.Value)
	default:
		return false, nil
	}
	return true, nil
}

func (c *configuration) takeBranch(v gitconfig.Var) bool {
	b := c.branches[v.Subsection]
	if b == nil {
		b = &branch{}
		c.branches[v.Subsection] = b
	}
	switch {
	case v.Key == "remote" && (v.Value == "." || nickname().MatchString(v.Value)):
		b.remote = v.Value
	case v.Key == "merge" && validRef(v.Value):
		b.merge = v.Value
	default:
		return false
	}
	return true
}

// finish writes what is kept. A branch's remote counts only if it is one that is
// kept: git takes any other word for a path or an address.
func (c *configuration) finish() (safe, error) {
	if c.core["bare"] == "true" {
		return safe{}, errors.New("it says that it is bare, and lies beside a work tree")
	}
	version := "0"
	out := safe{hash: gitindex.SHA1}
	if c.format == "sha256" {
		version, out.hash = "1", gitindex.SHA256
	}
	var b strings.Builder
	fmt.Fprintf(&b, "[core]\n\trepositoryformatversion = %s\n\tfilemode = %s\n\tbare = false\n", version, orTrue(c.core["filemode"]))
	if c.format == "sha256" {
		b.WriteString("[extensions]\n\tobjectFormat = sha256\n")
	}
	for _, name := range slices.Sorted(maps.Keys(c.remotes)) {
		c.writeRemote(&b, name)
	}
	for _, name := range slices.Sorted(maps.Keys(c.branches)) {
		c.writeBranch(&b, name)
	}
	out.text = b.String()
	out.dropped = slices.Sorted(maps.Keys(c.dropped))
	return out, nil
}

func (c *configuration) writeRemote(b *strings.Builder, name string) {
	r := c.remotes[name]
	if len(r.urls) == 0 {
		return
	}
	fmt.Fprintf(b, "[remote %s]\n", quote(name))
	for _, url := range r.urls {
		fmt.Fprintf(b, "\turl = %s\n", quote(url))
	}
	for _, spec := range r.fetch {
		fmt.Fprintf(b, "\tfetch = %s\n", quote(spec))
	}
}

func (c *configuration) writeBranch(b *strings.Builder, name string) {
	br := c.branches[name]
	if r := c.remotes[br.remote]; br.remote != "." && (r == nil || len(r.urls) == 0) {
		if br.remote != "" {
			c.dropped["branch."+name+".remote"] = true
		}
		return
	}
	fmt.Fprintf(b, "[branch %s]\n\tremote = %s\n", quote(name), quote(br.remote))
	if br.merge != "" {
		fmt.Fprintf(b, "\tmerge = %s\n", quote(br.merge))
	}
}

func orTrue(s string) string {
	if s == "" {
		return "true"
	}
	return s
}

// quote writes a value, or the name of a subsection, as git reads it (git-config(1),
// "Syntax"). Line feeds and control characters were refused before.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
