package survey

import (
	"errors"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// What a git directory may have, each of one kind only. The rules of package gitrules
// go by these names, so a link under one would put them in the wrong place.
var (
	directories = []string{"objects", "objects/info", "objects/pack", "refs", "info", "logs", "hooks", "worktrees", "modules"}
	files       = []string{"HEAD", "config", "config.worktree", "index", "packed-refs", "commondir", "gitdir", "info/exclude", "info/attributes",
		"info/grafts", "objects/info/alternates", "objects/info/http-alternates"}
)

// Bounds of what is looked at.
const (
	maxEntries = 4096 // of one directory
	maxDepth   = 16   // of modules in modules, and of slashes in their names
	maxGitDirs = 4096
)

// GitDir looks at a git directory, at those of its modules and at those of its linked
// work trees. It returns what Facts.Runs says. Errors are those of Workspace.
func GitDir(host Host, at string) (runs []string, err error) {
	s := &search{host: host}
	if err := s.gitDir(at, 0); err != nil {
		return nil, err
	}
	return s.runs, nil
}

type search struct {
	host  Host
	count int
	runs  []string
}

func (s *search) gitDir(at string, depth int) error {
	if s.count++; s.count > maxGitDirs || depth > maxDepth {
		return refuse(at, "is one of too many git directories in each other", "remove those of submodules that are gone, below modules")
	}
	for _, name := range directories {
		if err := s.mustBe(route.Dir, path.Join(at, name)); err != nil {
			return err
		}
	}
	for _, name := range files {
		if err := s.mustBe(route.File, path.Join(at, name)); err != nil {
			return err
		}
	}
	for _, look := range []func(string, int) error{s.objects, s.worktrees, s.modules, s.hooks} {
		if err := look(at, depth); err != nil {
			return err
		}
	}
	return nil
}

// mustBe refuses anything else under a name, and a file that has other names: the
// sandbox might write to one of those.
func (s *search) mustBe(kind route.Kind, name string) error {
	entry, err := lstat(s.host, name)
	switch {
	case err != nil:
		return err
	case entry.Kind == route.None:
		return nil
	case entry.Kind != kind:
		return refuse(name, "is "+kindName(entry.Kind)+", and must be "+kindName(kind), "put "+kindName(kind)+" there that belongs to this repository alone")
	case kind == route.File && entry.Links > 1:
		return refuse(name, "has "+strconv.FormatUint(entry.Links-1, 10)+" other names (hard links)",
			"give it a copy of its own: cp "+quote(name)+" x && mv x "+quote(name))
	}
	return nil
}

// objects refuses links among the directories of objects.
func (s *search) objects(at string, _ int) error {
	return s.each(path.Join(at, "objects"), func(name string, entry Entry) error {
		if entry.Kind == route.Symlink {
			return refuse(name, "is a symbolic link", "put the directory of objects itself there")
		}
		return nil
	})
}

func (s *search) worktrees(at string, depth int) error {
	return s.each(path.Join(at, "worktrees"), func(name string, entry Entry) error {
		if entry.Kind != route.Dir {
			return refuse(name, "is "+kindName(entry.Kind)+" where linked work trees are kept", "remove it")
		}
		return s.gitDir(name, depth+1)
	})
}

// modules goes down to the git directories of submodules, whose names may have
// slashes.
func (s *search) modules(at string, depth int) error {
	return s.below(path.Join(at, "modules"), depth)
}

func (s *search) below(dir string, depth int) error {
	return s.each(dir, func(name string, entry Entry) error {
		switch {
		case entry.Kind == route.Symlink:
			return refuse(name, "is a symbolic link where submodules are kept", "put the git directory of the submodule itself there")
		case entry.Kind != route.Dir:
			return nil
		case depth > maxDepth:
			return refuse(name, "is too deep", "remove it")
		}
		head, err := lstat(s.host, path.Join(name, "HEAD"))
		if err != nil {
			return err
		}
		if head.Kind != route.None {
			return s.gitDir(name, depth+1)
		}
		return s.below(name, depth+1)
	})
}

// hooks notes what in the workspace hooks are links to.
func (s *search) hooks(at string, _ int) error {
	return s.each(path.Join(at, "hooks"), func(name string, entry Entry) error {
		if entry.Kind != route.Symlink {
			return nil
		}
		target, err := s.host.ReadLink(name)
		if err != nil {
			return err
		}
		if target = path.Join(path.Dir(name), target); !path.IsAbs(target) && target != ".." && !strings.HasPrefix(target, "../") &&
			!strings.HasPrefix(target, gitrules.Git+"/") {
			s.runs = append(s.runs, target)
		}
		return nil
	})
}

func (s *search) each(dir string, f func(name string, entry Entry) error) error {
	entries, err := s.host.ReadDir(dir, maxEntries+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(entries) > maxEntries {
		return refuse(dir, "has more entries than a repository needs", "check with: git fsck")
	}
	for _, entry := range entries {
		if err := f(path.Join(dir, entry.Name), entry); err != nil {
			return err
		}
	}
	return nil
}

func quote(name string) string { return strconv.Quote(name) }
