package state

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Apply makes what item says and takes it out of Domain storage:
//
//	copy to a temporary name beside the target, compare digests, sync
//	take the sandbox's copy aside
//	rename the temporary name to the target, sync
//	remove the sandbox's copy
//
// A crash leaves the workspace without the item or with all of it, and the item
// where Recover finds it. Errors: Refusal when something is not what the item says,
// ErrUnreadable, and the context's, all before anything has changed.
func Apply(ctx context.Context, p Place, item *Item, o Options) error {
	if item.Kind == RuleItem {
		return applyRule(p, item, o)
	}
	at := string(item.Path)
	if err := checkName(at); err != nil {
		return err
	}
	parentPath, name := split(at)
	if err := makeParents(p.Tree, item.Parents); err != nil {
		return err
	}
	parent, err := openBelow(p.Tree, parentPath, dirFlags)
	if err != nil {
		return unreadable(parentPath, err)
	}
	defer parent.Close()
	temporary := Temporary + randomID()
	c := copier{ctx: ctx, item: item, options: o}
	if err := c.all(p.Store, parent, temporary); err != nil {
		return errors.Join(err, removeBelow(parent, temporary, 0))
	}
	id, err := takeAside(p.Store, at)
	if err != nil {
		return errors.Join(err, removeBelow(parent, temporary, 0))
	}
	if err := publish(parent, temporary, name, item.Replaces); err != nil {
		_, back := putBack(p.Store, asideEntry{id: id, path: at})
		return errors.Join(err, back, removeBelow(parent, temporary, 0))
	}
	if err := parent.Sync(); err != nil {
		return fmt.Errorf("sync the directory of %q: %w", at, err)
	}
	return dropAside(p.Store, id)
}

// makeParents makes the directories on the way, outermost first.
func makeParents(tree *os.File, parents [][]byte) error {
	for _, p := range parents {
		dir, name := split(string(p))
		d, err := openBelow(tree, dir, dirFlags)
		if err != nil {
			return unreadable(dir, err)
		}
		err = unix.Mkdirat(int(d.Fd()), name, 0o755)
		if err == nil {
			err = d.Sync()
		}
		d.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("make directory %q: %w", p, err)
		}
	}
	return nil
}

// publish gives the finished copy its name.
func publish(parent *os.File, temporary, name string, replace bool) error {
	fd := int(parent.Fd())
	if replace {
		var st unix.Stat_t
		err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil && kindOf(st) != unix.S_IFREG {
			return refuse(name, "it is no longer a file in the workspace", "look at it, then try again")
		}
		if err := unix.Renameat(fd, temporary, fd, name); err != nil {
			return fmt.Errorf("put %q in place: %w", name, err)
		}
		return nil
	}
	err := unix.Renameat2(fd, temporary, fd, name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EEXIST) {
		return refuse(name, "something of that name has appeared in the workspace", "look at it, then try again")
	}
	if err != nil {
		return fmt.Errorf("put %q in place: %w", name, err)
	}
	return nil
}

// copier makes an item's pieces under one name.
type copier struct {
	ctx     context.Context
	item    *Item
	options Options
}

func (c copier) all(store, parent *os.File, temporary string) error {
	held, err := openBelow(store, heldName, dirFlags)
	if err != nil {
		return err
	}
	defer held.Close()
	for i := range c.item.Pieces {
		if err := c.ctx.Err(); err != nil {
			return err
		}
		p := &c.item.Pieces[i]
		// A directory's piece comes before those in it.
		at := temporary
		if len(p.Path) > 0 {
			at = join(temporary, string(p.Path))
		}
		if err := c.piece(held, parent, at, p); err != nil {
			return err
		}
	}
	if err := unix.Syncfs(int(parent.Fd())); err != nil {
		return fmt.Errorf("sync the file system: %w", err)
	}
	return nil
}

func (c copier) piece(held, root *os.File, at string, p *Piece) error {
	dirPath, name := split(at)
	dir, err := openBelow(root, dirPath, dirFlags)
	if err != nil {
		return err
	}
	defer dir.Close()
	switch p.Type {
	case Dir:
		return makeDir(dir, name)
	case Link:
		if err := unix.Symlinkat(string(p.Target), int(dir.Fd()), name); err != nil {
			return fmt.Errorf("make the link %q: %w", p.Path, err)
		}
		return nil
	case Text:
		return writeFile(dir, name, bytes.NewReader(p.Text), fileMode(p))
	case File:
		return c.file(held, dir, name, p)
	}
	return fmt.Errorf("piece %q has the type %q", p.Path, p.Type)
}

func makeDir(dir *os.File, name string) error {
	if err := unix.Mkdirat(int(dir.Fd()), name, 0o700); err != nil {
		return fmt.Errorf("make directory %q: %w", name, err)
	}
	d, err := openBelow(dir, name, dirFlags)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Chmod(0o755) // whatever the umask is: what was shown is what is made
}

func fileMode(p *Piece) os.FileMode {
	if p.Exec {
		return 0o755
	}
	return 0o644
}

// file copies one file and insists on the digest that was shown.
func (c copier) file(held, dir *os.File, name string, p *Piece) error {
	from := string(c.item.Path)
	if len(p.Path) > 0 {
		from = join(from, string(p.Path))
	}
	parentPath, base := split(from)
	parent, err := openBelow(held, parentPath, dirFlags)
	if err != nil {
		return changed(from, err)
	}
	defer parent.Close()
	f, err := openRegular(parent, base)
	if err != nil {
		return changed(from, err)
	}
	defer f.Close()
	hash := sha256.New()
	source := &meter{ctx: c.ctx, from: io.TeeReader(io.LimitReader(f, p.Size+1), hash), tell: c.options.Progress}
	if err := writeFile(dir, name, source, fileMode(p)); err != nil {
		return err
	}
	if !bytes.Equal(hash.Sum(nil), p.Sum) {
		return changed(from, nil)
	}
	return nil
}

// changed tells that what is held is not what was shown.
func changed(at string, err error) error {
	if err = unreadable(at, err); errors.Is(err, ErrUnreadable) {
		return err
	}
	return refuse(at, "it has changed since it was shown", "look at it again: lazaret state accept "+at)
}

func writeFile(dir *os.File, name string, content io.Reader, mode os.FileMode) error {
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("make file %q: %w", name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	_, err = io.Copy(f, content)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write file %q: %w", name, err)
	}
	return nil
}
