//go:build sandbox

package fusefs_test

import (
	"crypto/sha1"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/fusefs"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// ruled mounts a workspace with the product's own rules. make fills the host's side.
func ruled(t *testing.T, make func(host string), change ...func(*fusefs.Config)) *world {
	t.Helper()
	return newWorld(t, append(change, func(c *fusefs.Config) {
		root := c.Host.Name()
		make(root)
		policy, err := route.New(route.Config{
			Secrets: []string{".env"},
			Read: func(path string, limit int64) ([]byte, error) {
				data, err := os.ReadFile(filepath.Join(root, path))
				if info, serr := os.Lstat(filepath.Join(root, path)); serr != nil || !info.Mode().IsRegular() {
					return nil, fs.ErrNotExist
				}
				return data[:min(int64(len(data)), limit)], err
			},
			Look: func(path string) route.Kind { return look(filepath.Join(root, path)) },
		})
		must(t, err)
		c.Router, c.Vetter = policy, policy
	})...)
}

func look(path string) route.Kind {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return route.None
	case info.IsDir():
		return route.Dir
	case info.Mode().IsRegular():
		return route.File
	}
	return route.Other
}

// indexOf is a git index of empty regular files.
func indexOf(paths ...string) string {
	out := append([]byte("DIRC"), 0, 0, 0, 2)
	out = binary.BigEndian.AppendUint32(out, uint32(len(paths)))
	for _, path := range paths {
		entry := make([]byte, 62)
		binary.BigEndian.PutUint32(entry[24:], 0o100644)
		binary.BigEndian.PutUint16(entry[60:], uint16(len(path)))
		entry = append(entry, path...)
		out = append(append(out, entry...), make([]byte, 8-len(entry)%8)...)
	}
	sum := sha1.Sum(out)
	return string(append(out, sum[:]...))
}

func repository(host string) {
	for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n", "index": indexOf("a"),
		"refs/heads/main": "0f\n", "objects/info/packs": "", "logs/refs/heads/main": "", "worktrees/wt/HEAD": "0f\n", "worktrees/wt/index": indexOf("a"),
		"worktrees/wt/logs/HEAD": ""} {
		at := filepath.Join(host, ".git", name)
		_ = os.MkdirAll(filepath.Dir(at), 0o755)
		_ = os.WriteFile(at, []byte(text), 0o644)
	}
	_ = os.WriteFile(host+"/a", []byte("work"), 0o644)
}

// views are the two ways to a git directory.
func views(t *testing.T, w *world) map[string]string {
	t.Helper()
	_, err := w.fs.AddGitDir(".git")
	must(t, err)
	w.mountGit(t)
	return map[string]string{"tree": w.tree + "/.git", "git": w.git + "/0"}
}

// What the host's git trusts is never changed where it is.
func TestVettedFilesAreNotChangedInPlace(t *testing.T) {
	w := ruled(t, repository)
	for view, git := range views(t, w) {
		for what, act := range map[string]func(name string) error{
			"write":     func(name string) error { return write(name, 0) },
			"append":    func(name string) error { return write(name, os.O_APPEND) },
			"overwrite": func(name string) error { return write(name, os.O_TRUNC) },
			"truncate":  func(name string) error { return unix.Truncate(name, 1) },
			"fallocate": allocate,
			"copy":      func(name string) error { return copyRange(git+"/COMMIT_EDITMSG", name) },
			"link":      func(name string) error { return unix.Link(name, name+".lock") },
		} {
			for _, name := range []string{"index", "HEAD", "refs/heads/main"} {
				put(t, w.host+"/.git/COMMIT_EDITMSG", "text")
				w.fs.InvalidateAll()
				before := read(t, w.host+"/.git/"+name)
				refused(t, act(git+"/"+name), unix.EROFS)
				if after := read(t, w.host+"/.git/"+name); after != before {
					t.Errorf("%s: %s of %s changed it", view, what, name)
				}
			}
			if err := act(git + "/COMMIT_EDITMSG"); err != nil && what != "copy" && what != "link" {
				t.Errorf("%s: %s of an ordinary file: %v", view, what, err)
			}
		}
		refused(t, os.WriteFile(git+"/refs/heads/new", nil, 0o644), unix.EROFS)
		refused(t, unix.Mknod(git+"/ORIG_HEAD", unix.S_IFREG|0o644, 0), unix.EROFS)
		put(t, git+"/refs/heads/new.lock", "0f\n")
		must(t, unix.Chmod(git+"/index", 0o664)) // says nothing new
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	must(t, err)
	return string(data)
}

func copyRange(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer out.Close()
	_, err = unix.CopyFileRange(int(in.Fd()), nil, int(out.Fd()), nil, 4, 0)
	return err
}

// What comes to be by a rename is looked at before.
func TestVettedFilesComeByRenames(t *testing.T) {
	w := ruled(t, repository)
	for view, git := range views(t, w) {
		for _, c := range []struct {
			name, good string
			bad        []string
		}{
			{"index", indexOf("a", "b"), []string{indexOf(".git/hooks/pre-commit"), indexOf("a/../../x"), "noise"}},
			{"HEAD", "ref: refs/heads/other\n", []string{"ref: hooks/post-commit\n"}},
			{"refs/heads/main", "0e\n", []string{"ref: ../x", "ref: config"}},
			{"refs/heads/fresh-" + view, "0e\n", []string{"ref: config"}},
			{"worktrees/wt/index", indexOf("b"), []string{indexOf("../x")}},
		} {
			at := git + "/" + c.name
			before, err := os.ReadFile(at)
			for _, bad := range c.bad {
				put(t, at+".lock", bad)
				refused(t, unix.Rename(at+".lock", at), unix.EROFS)
				if err == nil {
					refused(t, exchange(at+".lock", at), unix.EROFS)
					refused(t, exchange(at, at+".lock"), unix.EROFS)
				}
				same(t, w.host+"/.git/"+c.name+".lock", bad)
				if err == nil {
					same(t, w.host+"/.git/"+c.name, string(before))
				}
			}
			put(t, at+".lock", c.good)
			must(t, unix.Rename(at+".lock", at))
			same(t, w.host+"/.git/"+c.name, c.good)
		}
	}
}

// Whoever has a vetted file open from before cannot write it.
func TestVettedFilesAreOutOfReachOfOlderDescriptors(t *testing.T) {
	w := ruled(t, repository)
	all := views(t, w)
	good, bad := indexOf("a", "b"), []byte(indexOf(".git/hooks/pre-commit"))
	for opened, from := range all {
		for renamed, git := range all {
			put(t, from+"/index.lock", good)
			w.fs.InvalidateAll()
			f, err := os.OpenFile(from+"/index.lock", os.O_RDWR, 0)
			must(t, err)
			_, err = f.WriteAt([]byte("D"), 0)
			must(t, err)
			mapped, err := unix.Mmap(int(f.Fd()), 0, len(good), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
			must(t, err)
			must(t, scribble(mapped, []byte(good)))
			must(t, unix.Rename(git+"/index.lock", git+"/index"))
			_, err = f.WriteAt(bad, 0)
			if err == nil {
				t.Errorf("opened in %s, renamed in %s: written", opened, renamed)
			}
			if scribble(mapped, bad) == nil {
				t.Errorf("opened in %s, renamed in %s: written through a mapping", opened, renamed)
			}
			if err := unix.Ftruncate(int(f.Fd()), 3); err == nil {
				t.Errorf("opened in %s, renamed in %s: truncated", opened, renamed)
			}
			must(t, unix.Munmap(mapped))
			f.Close()
			same(t, w.host+"/.git/index", good)
			w.fs.InvalidateAll()
		}
	}
}

// scribble writes through a mapping; a page that is not there is an error.
func scribble(mapped, data []byte) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if recover() != nil {
			err = unix.EFAULT
		}
	}()
	copy(mapped, data)
	return unix.Msync(mapped, unix.MS_SYNC)
}

// A second name would be a way to write what has been looked at.
func TestVettedFilesHaveOneName(t *testing.T) {
	w := ruled(t, repository)
	head := w.tree + "/.git/HEAD"
	put(t, w.tree+"/one", "0e0e0e\n")
	must(t, unix.Link(w.tree+"/one", w.tree+"/two"))
	refused(t, unix.Rename(w.tree+"/one", w.tree+"/.git/index"), unix.EXDEV)
	must(t, unix.Rename(w.tree+"/one", head+".lock"))
	refused(t, unix.Rename(head+".lock", head), unix.EBUSY)
	f, err := os.OpenFile(w.tree+"/two", os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	must(t, os.Remove(w.tree+"/two"))
	must(t, unix.Rename(head+".lock", head))
	_, err = f.WriteString("hostile")
	refused(t, err, unix.EROFS)
	refused(t, unix.Link(head, w.tree+"/three"), unix.EROFS)
	same(t, w.host+"/.git/HEAD", "0e0e0e\n")
}

// Nobody carries references in with a whole directory.
func TestVettedFilesDoNotComeWithDirectories(t *testing.T) {
	w := ruled(t, repository)
	git := w.tree + "/.git"
	put(t, git+"/logs/x/main", "ref: hooks/post-commit")
	refused(t, unix.Rename(git+"/logs/x", git+"/refs/heads/x"), unix.EXDEV)
	put(t, git+"/logs/y/main.lock", "ref: hooks/post-commit")
	must(t, unix.Rename(git+"/logs/y", git+"/refs/heads/y"))
	refused(t, unix.Rename(git+"/refs/heads/y/main.lock", git+"/refs/heads/y/main"), unix.EROFS)
}

// What makes a directory a repository, or a work tree one, stays.
func TestKeptFilesStay(t *testing.T) {
	w := ruled(t, repository)
	for _, git := range views(t, w) {
		for _, name := range []string{"HEAD", "worktrees/wt/HEAD", "worktrees/wt/index", "worktrees/wt/logs/HEAD"} {
			refused(t, os.Remove(git+"/"+name), unix.EBUSY)
			refused(t, unix.Rename(git+"/"+name, git+"/"+name+".lock"), unix.EBUSY)
			text := read(t, w.host+"/.git/"+name)
			put(t, git+"/"+name+".lock", text)
			must(t, unix.Rename(git+"/"+name+".lock", git+"/"+name))
			put(t, git+"/"+name+".lock", text)
			must(t, exchange(git+"/"+name+".lock", git+"/"+name))
			must(t, os.Remove(git+"/"+name+".lock"))
		}
		put(t, git+"/refs/heads/gone.lock", "0f\n")
		must(t, unix.Rename(git+"/refs/heads/gone.lock", git+"/refs/heads/gone"))
		must(t, os.Remove(git+"/refs/heads/gone"))
	}
	must(t, os.Remove(w.tree+"/.git/index"))
}

// A file of the host's with two names is as read-only as ever when the sandbox has
// removed the one it knows.
func TestAnUnknownNameProtectsARemovedFile(t *testing.T) {
	w := newWorld(t)
	put(t, w.host+"/known", "text")
	must(t, os.Link(w.host+"/known", filepath.Dir(w.host)+"/elsewhere"))
	put(t, w.host+"/single", "text")
	for name, want := range map[string]unix.Errno{"known": unix.EROFS, "single": 0} {
		f, err := os.OpenFile(w.tree+"/"+name, os.O_RDWR, 0)
		must(t, err)
		must(t, os.Remove(w.tree+"/"+name))
		_, err = f.WriteString("hostile")
		refused(t, err, want)
		f.Close()
	}
	same(t, filepath.Dir(w.host)+"/elsewhere", "text")
}

// hostileIndex is an index of one executable file with a content, whose id is in hex.
func hostileIndex(t *testing.T, path, id string) string {
	t.Helper()
	raw, err := hex.DecodeString(strings.TrimSpace(id))
	must(t, err)
	content := []byte(indexOf(path))
	content = content[:len(content)-sha1.Size]
	binary.BigEndian.PutUint32(content[12+24:], 0o100755)
	copy(content[12+40:], raw)
	sum := sha1.Sum(content)
	return string(append(content, sum[:]...))
}
