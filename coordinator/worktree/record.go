package worktree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/safefs"
)

// stage is how far the life of a work tree is.
type stage uint32

const (
	making   stage = 1
	ready    stage = 2
	removing stage = 3
)

// record is what is known of one work tree, written before anything is made.
type record struct {
	Version   uint32 `cbor:"1,keyasint"`
	Name      string `cbor:"2,keyasint"`
	Profile   string `cbor:"3,keyasint"`
	Workspace string `cbor:"4,keyasint"` // the folder it was started in
	Common    string `cbor:"5,keyasint"` // the repository
	Base      string `cbor:"6,keyasint"` // the commit it started from
	Stage     stage  `cbor:"7,keyasint"`
	// Kept says that a last session left something in it and the developer was told.
	Kept bool `cbor:"8,keyasint"`
	// Drop says, when it is being removed, that the branch goes with its commits.
	Drop bool `cbor:"9,keyasint"`
	// Entry is the work tree's own directory in the repository, once there is one.
	Entry string `cbor:"10,keyasint"`
}

const (
	recordVersion = 1
	maxRecord     = 64 << 10
)

func (k Keeper) lockPath(name string) string   { return filepath.Join(k.Dir(), "."+name+".lock") }
func (k Keeper) recordPath(name string) string { return filepath.Join(k.Dir(), recordName(name)) }
func recordName(name string) string            { return "." + name + ".record" }

// write records r, so that a crash leaves what was or what is.
func (k Keeper) write(r record) error {
	r.Version = recordVersion
	data, err := canon.Marshal(r)
	if err == nil {
		err = safefs.WritePrivate(k.recordPath(r.Name), data)
	}
	if err != nil {
		return fmt.Errorf("record worktree %q: %w", r.Name, err)
	}
	return nil
}

// read returns the record of name; fs.ErrNotExist when there is none.
func (k Keeper) read(name string) (record, error) {
	dir, err := os.Open(k.Dir())
	if err != nil {
		return record{}, err
	}
	defer dir.Close()
	data, err := safefs.ReadAt(dir, recordName(name), maxRecord)
	if err != nil {
		return record{}, err
	}
	var r record
	if err := canon.Unmarshal(data, maxRecord, &r); err != nil {
		return record{}, fmt.Errorf("read %q: %w", k.recordPath(name), err)
	}
	if r.Version != recordVersion || r.Name != name || checkName(name) != nil {
		return record{}, fmt.Errorf("read %q: it is of another Lazaret, or damaged", k.recordPath(name))
	}
	return r, nil
}

// Names lists the recorded work trees, sorted.
func (k Keeper) Names() ([]string, error) {
	entries, err := os.ReadDir(k.Dir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var out []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".record")
		if name = strings.TrimPrefix(name, "."); ok && checkName(name) == nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}
