package state

import (
	"bytes"
	"errors"
	"io/fs"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// planRule plans the acceptance of a rule file the sandbox wrote or removed last: the
// file is shared and stays as it is; what it reveals comes into force. A live
// workspace file system takes no content of the sandbox's for the host's, whoever
// writes it again, so the Domain must be stopped.
func planRule(p Place, at string, o Options) (*Item, error) {
	nothing := refuse(at, "nothing of that name is held", "lazaret state held lists what is")
	pins, err := journal.OpenPins(p.Store)
	if err != nil {
		return nil, nothing
	}
	pin, ok := pins.Get(at)
	if !ok {
		return nil, nothing
	}
	data, removal, err := ruleFile(p, at)
	if err != nil {
		return nil, unreadable(at, err)
	}
	if removal && !pin.AwaitsRemoval(at) || !removal && !pin.Awaits(data) {
		return nil, nothing
	}
	if o.Running {
		return nil, refuse(at, "the Domain is running, and keeps the rules it started with", "end its sessions first, then accept it")
	}
	return &Item{Path: []byte(at), Kind: RuleItem, Bytes: int64(len(data)), Was: pin.Content, Removal: removal,
		Pieces: []Piece{{Type: Text, Size: int64(len(data)), Text: data}}}, nil
}

func ruleFile(p Place, at string) (data []byte, removed bool, err error) {
	data, err = readBelow(p.Tree, at, maxRules)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true, nil
	}
	return data, false, err
}

// applyRule pins the content that was shown.
func applyRule(p Place, item *Item, o Options) error {
	at := string(item.Path)
	text := item.Pieces[0].Text
	data, removal, err := ruleFile(p, at)
	if err != nil || removal != item.Removal || !bytes.Equal(data, text) {
		return changed(at, err)
	}
	if o.Running {
		return refuse(at, "the Domain has been started meanwhile", "end its sessions first, then accept it")
	}
	pins, err := journal.OpenPins(p.Store)
	if err != nil {
		return err
	}
	if err := pins.ByHost(at, text, removal); err != nil {
		return err
	}
	record, err := pins.Snapshot()
	if err != nil {
		return err
	}
	return journal.SaveIn(p.Store, journal.PinsName)(record, true)
}
