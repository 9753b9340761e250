package state

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/safefs"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// What is being accepted lies in aside, out of the sandbox's sight, until the
// workspace has it:
//
//	aside/<random>/path   where it was held, written before anything moves
//	aside/<random>/item   what was held
//
// path goes first when all is done. So a directory without path is rubbish, and one
// with both is an acceptance that was interrupted: Recover puts the item back.
const (
	asidePath = "path"
	asideItem = "item"
)

type asideEntry struct{ id, path string }

func randomID() string {
	b := make([]byte, 16)
	rand.Read(b) // never fails: crypto/rand panics rather than return weak bytes
	return hex.EncodeToString(b)
}

// asides lists what lies aside. Entries without a path have an empty one.
func asides(store *os.File) ([]asideEntry, error) {
	dir, err := openBelow(store, asideName, dirFlags)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	ids, err := names(dir)
	if err != nil {
		return nil, err
	}
	var out []asideEntry
	for _, id := range ids {
		e := asideEntry{id: id}
		if data, err := readBelow(dir, id+"/"+asidePath, 8192); err == nil && journal.ValidPath(string(data)) {
			e.path = string(data)
		}
		out = append(out, e)
	}
	return out, nil
}

// takeAside moves what is held at path out of the sandbox's sight.
func takeAside(store *os.File, at string) (id string, err error) {
	id = randomID()
	if err := unix.Mkdirat(int(store.Fd()), asideName, 0o700); err != nil && !errors.Is(err, unix.EEXIST) {
		return "", fmt.Errorf("make %q: %w", asideName, err)
	}
	dir, err := openBelow(store, asideName, dirFlags)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	if err := unix.Mkdirat(int(dir.Fd()), id, 0o700); err != nil {
		return "", fmt.Errorf("make a place aside: %w", err)
	}
	mine, err := openBelow(dir, id, dirFlags)
	if err != nil {
		return "", err
	}
	defer mine.Close()
	if err := safefs.ReplaceAt(mine, asidePath, []byte(at), safefs.Durable); err != nil {
		return "", err
	}
	parent, name := split(heldName + "/" + at)
	from, err := openBelow(store, parent, dirFlags)
	if err != nil {
		return "", err
	}
	defer from.Close()
	if err := unix.Renameat2(int(from.Fd()), name, int(mine.Fd()), asideItem, unix.RENAME_NOREPLACE); err != nil {
		return "", fmt.Errorf("take %q aside: %w", at, err)
	}
	return id, nil
}

// dropAside ends an acceptance: the sandbox's copy goes.
func dropAside(store *os.File, id string) error {
	mine, err := openBelow(store, asideName+"/"+id, dirFlags)
	if err != nil {
		return err
	}
	err = unix.Unlinkat(int(mine.Fd()), asidePath, 0)
	mine.Close()
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("finish what lies aside: %w", err)
	}
	dir, err := openBelow(store, asideName, dirFlags)
	if err != nil {
		return err
	}
	defer dir.Close()
	return removeBelow(dir, id, 0)
}

// putBack undoes takeAside. If the sandbox has made something of that name since,
// the old one gets a name of its own beside it.
func putBack(store *os.File, e asideEntry) (at string, err error) {
	mine, err := openBelow(store, asideName+"/"+e.id, dirFlags)
	if err != nil {
		return "", err
	}
	defer mine.Close()
	parent, name := split(heldName + "/" + e.path)
	to, err := openBelow(store, parent, dirFlags)
	if err != nil {
		return "", fmt.Errorf("put %q back: %w", e.path, err)
	}
	defer to.Close()
	at = e.path
	err = unix.Renameat2(int(mine.Fd()), asideItem, int(to.Fd()), name, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EEXIST) {
		at += ".kept-" + e.id[:8]
		err = unix.Renameat2(int(mine.Fd()), asideItem, int(to.Fd()), name+".kept-"+e.id[:8], unix.RENAME_NOREPLACE)
	}
	if errors.Is(err, unix.ENOENT) {
		err = nil // it was never moved
	}
	if err != nil {
		return "", fmt.Errorf("put %q back: %w", e.path, err)
	}
	return at, dropAside(store, e.id)
}

// Recover puts back what interrupted acceptances have left aside, and returns the
// paths. Only one acceptance or recovery may be at work: the caller holds a lock.
func Recover(store *os.File) (back []string, err error) {
	list, err := asides(store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if len(e.id) != 32 {
			continue // not ours
		}
		if e.path == "" {
			err = errors.Join(err, dropAside(store, e.id))
			continue
		}
		at, putErr := putBack(store, e)
		err = errors.Join(err, putErr)
		if putErr == nil {
			back = append(back, at)
		}
	}
	return back, err
}

// removeBelow removes name of dir with everything in it, and follows no link.
func removeBelow(dir *os.File, name string, depth int) error {
	err := unix.Unlinkat(int(dir.Fd()), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	if !errors.Is(err, unix.EISDIR) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	if depth > 2*maxDepth {
		return fmt.Errorf("remove %q: directories are nested too deeply", name)
	}
	sub, err := openBelow(dir, name, dirFlags)
	if err != nil {
		return unreadable(name, err)
	}
	defer sub.Close()
	list, err := names(sub)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if err := removeBelow(sub, entry, depth+1); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	return nil
}
