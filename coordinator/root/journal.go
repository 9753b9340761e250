package root

import (
	"errors"
	"io/fs"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// Journal reads what the Domain's sandboxes did in the workspace: a live one's changes
// are at most a second old. A Domain that never had a sandbox has an empty journal.
func Journal(root string) (*journal.Journal, error) {
	store, err := state.OpenStore(root)
	if errors.Is(err, fs.ErrNotExist) {
		return journal.New(), nil
	}
	if err != nil {
		return nil, err
	}
	defer store.Close()
	return journal.Open(store)
}
