package state

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/safefs"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// planRule plans the acceptance of a rule file the sandbox wrote last: the file is
// shared and stays where it is; what it reveals comes into force.
func planRule(p Place, at string) (*Item, error) {
	nothing := refuse(at, "nothing of that name is held", "lazaret state held lists what is")
	pins, err := journal.OpenPins(p.Store)
	if err != nil {
		return nil, nothing
	}
	pin, ok := pins.Get(at)
	if !ok {
		return nil, nothing
	}
	data, err := readBelow(p.Tree, at, maxRules)
	if err != nil {
		return nil, unreadable(at, err)
	}
	if !pin.Awaits(data) {
		return nil, nothing
	}
	sum := sha256.Sum256(data)
	return &Item{Path: []byte(at), Kind: RuleItem, Replaces: true, Bytes: int64(len(data)), Was: pin.Content,
		Pieces: []Piece{{Type: Text, Size: int64(len(data)), Sum: sum[:], Text: data}}}, nil
}

// applyRule writes the accepted content again, by a rename of the host's. A running
// sandbox's workspace file system takes that for the host's own change; of a stopped
// one the pins are written here.
func applyRule(p Place, item *Item, o Options) error {
	at := string(item.Path)
	text := item.Pieces[0].Text
	dirPath, name := split(at)
	dir, err := openBelow(p.Tree, dirPath, dirFlags)
	if err != nil {
		return unreadable(at, err)
	}
	defer dir.Close()
	found, err := safefs.ReadAt(dir, name, maxRules)
	if err != nil || !bytes.Equal(found, text) {
		return changed(at, err)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return changed(at, err)
	}
	temporary := Temporary + randomID()
	if err := writeFile(dir, temporary, bytes.NewReader(text), os.FileMode(st.Mode&0o755)); err != nil {
		return err
	}
	if err := unix.Syncfs(int(dir.Fd())); err != nil {
		return fmt.Errorf("sync the file system: %w", err)
	}
	if err := publish(dir, temporary, name, true); err != nil {
		return err
	}
	if o.Running {
		return nil
	}
	pins, err := journal.OpenPins(p.Store)
	if err != nil {
		return err
	}
	if err := pins.ByHost(at, text, false); err != nil {
		return err
	}
	record, err := pins.Snapshot()
	if err != nil {
		return err
	}
	return journal.SaveIn(p.Store, journal.PinsName)(record, true)
}
