package anchor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// Stack says where the parts of the root file system are mounted. All paths are
// absolute in the mount namespace it is built in.
type Stack struct {
	Layer   string   // the guest layer
	Lower   string   // the prepared lower
	Scratch string   // an empty file system for what the generation forgets
	Homes   []string // by anchor: the directory with its upper and work directories
	Merged  string   // where the guest's root is built
}

// Mount builds the guest's root: the forgetful overlay, then every State Anchor on
// top of it, outer ones first.
func (s Stack) Mount(anchors []runtime.Anchor) error {
	upper, work := filepath.Join(s.Scratch, "upper"), filepath.Join(s.Scratch, "work")
	root, err := os.Lstat(s.Lower)
	if err != nil {
		return fmt.Errorf("look at the prepared lower: %w", err)
	}
	if err := makeUpper(s.Scratch, "upper", root); err != nil {
		return err
	}
	if err := os.Mkdir(work, 0o700); err != nil {
		return fmt.Errorf("make the root's work directory: %w", err)
	}
	if err := overlay([]string{s.Layer, s.Lower}, upper, work, s.Merged); err != nil {
		return err
	}
	order := make([]int, len(anchors))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(anchors[a].Path) - len(anchors[b].Path) })
	for _, i := range order {
		if err := s.mountAnchor(anchors[i], s.Homes[i]); err != nil {
			return err
		}
	}
	return nil
}

// AddAnchorPoints makes the anchors' mount points in the layer, and refuses paths
// that are links in the image: their writes would persist under another name.
func (l *Layer) AddAnchorPoints(anchors []runtime.Anchor) error {
	for _, a := range anchors {
		name, err := l.resolve(a.Path)
		if err != nil {
			return err
		}
		if "/"+name != a.Path {
			return &fault.Error{Kind: fault.Config,
				Message: fmt.Sprintf("persistent directory %q is a symbolic link in the image", a.Path),
				Fix:     fmt.Sprintf("name %q instead", "/"+name)}
		}
		if err := l.mkdirAll(name); err != nil {
			return err
		}
	}
	return nil
}

func (s Stack) mountAnchor(a runtime.Anchor, home string) error {
	layer := filepath.Join(s.Layer, a.Path)
	like, err := os.Lstat(layer)
	if err != nil {
		return fmt.Errorf("look at state anchor %q: %w", a.Path, err)
	}
	upper, work := filepath.Base(a.Upper), filepath.Base(a.Work)
	if err := makeUpper(home, upper, like); err != nil {
		return fmt.Errorf("state anchor %q: %w", a.Path, err)
	}
	if err := os.Mkdir(filepath.Join(home, work), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("state anchor %q: make work directory: %w", a.Path, err)
	}
	lowers := []string{layer}
	if info, err := os.Lstat(filepath.Join(s.Lower, a.Path)); err == nil && info.IsDir() {
		lowers = append(lowers, filepath.Join(s.Lower, a.Path))
	}
	return overlay(lowers, filepath.Join(home, upper), filepath.Join(home, work), filepath.Join(s.Merged, a.Path))
}

// makeUpper makes the directory name in home like the directory it will cover,
// unless it exists. It appears whole or not at all.
func makeUpper(home, name string, like fs.FileInfo) error {
	root, err := os.OpenRoot(home)
	if err != nil {
		return fmt.Errorf("open upper directory's home: %w", err)
	}
	defer root.Close()
	if info, err := root.Lstat(name); err == nil {
		if !info.IsDir() {
			return fmt.Errorf("upper directory %q is not a directory", path.Join(home, name))
		}
		return nil
	}
	fresh := name + ".new"
	if err := root.RemoveAll(fresh); err != nil {
		return fmt.Errorf("remove unfinished upper directory: %w", err)
	}
	if err := root.Mkdir(fresh, 0o700); err != nil {
		return fmt.Errorf("make upper directory: %w", err)
	}
	if err := copyAttributes(root, fresh, like); err != nil {
		return err
	}
	if err := root.Rename(fresh, name); err != nil {
		return fmt.Errorf("publish upper directory: %w", err)
	}
	return nil
}

// overlay mounts one kernel overlay. userxattr is what an unprivileged mounter may
// use; the index is off because it would tie an upper directory to one lower's
// device numbers.
func overlay(lowers []string, upper, work, target string) error {
	escaped := make([]string, len(lowers))
	for i, l := range lowers {
		escaped[i] = lowerEscape.Replace(l)
	}
	data := "lowerdir=" + strings.Join(escaped, ":") +
		",upperdir=" + upperEscape.Replace(upper) + ",workdir=" + upperEscape.Replace(work) +
		",userxattr,index=off"
	if len(data) >= os.Getpagesize() {
		return fmt.Errorf("mount overlay at %q: its options are longer than the kernel takes", target)
	}
	if err := unix.Mount("lazaret", target, "overlay", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return &fault.Error{Kind: fault.Host, Message: fmt.Sprintf("cannot mount an overlay at %q", target), Err: err,
			Fix: "the Storage Root must lie on a local file system with user extended attributes (ext4, xfs, btrfs, tmpfs)"}
	}
	return nil
}

// How overlayfs wants its separators inside paths.
var (
	lowerEscape = strings.NewReplacer(`\`, `\\`, `:`, `\:`, `,`, `\,`)
	upperEscape = strings.NewReplacer(`\`, `\\`, `,`, `\,`)
)
