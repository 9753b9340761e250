package root

import (
	"encoding/hex"
	"fmt"
	"os"
	"time"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/safefs"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

const (
	lookedName    = "looked"
	lookedVersion = 1
	epochBytes    = 16
)

// looked is the moment up to which the developer has seen the sandbox's changes. It
// is the host's own record: the journal itself belongs to the sandbox's ids and to
// the live workspace file system.
type looked struct {
	Version uint32 `cbor:"1,keyasint"`
	Epoch   []byte `cbor:"2,keyasint"`
	Seq     uint64 `cbor:"3,keyasint"`
	Time    int64  `cbor:"4,keyasint"` // milliseconds of Unix time
}

// WriteLooked records that the developer has seen what the Domain Root's journal
// has up to p.
func WriteLooked(root string, p journal.Point) error {
	epoch, err := hex.DecodeString(p.Epoch)
	if err != nil {
		return fmt.Errorf("mark %q: %w", p.Epoch, err)
	}
	dir, err := os.Open(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	data, err := canon.Marshal(looked{Version: lookedVersion, Epoch: epoch, Seq: p.Seq, Time: p.Time.UnixMilli()})
	if err != nil {
		return err
	}
	return safefs.ReplaceAt(dir, lookedName, data, safefs.Durable)
}

// Looked returns what WriteLooked recorded last; fs.ErrNotExist when it never did.
func Looked(root string) (journal.Point, error) {
	dir, err := os.Open(root)
	if err != nil {
		return journal.Point{}, err
	}
	defer dir.Close()
	data, err := safefs.ReadAt(dir, lookedName, maxRecord)
	if err != nil {
		return journal.Point{}, err
	}
	var l looked
	if err := canon.Unmarshal(data, maxRecord, &l); err != nil {
		return journal.Point{}, fmt.Errorf("read %q: %w: %w", lookedName, ErrDamaged, err)
	}
	if l.Version != lookedVersion || len(l.Epoch) != epochBytes {
		return journal.Point{}, fmt.Errorf("read %q: %w", lookedName, ErrDamaged)
	}
	return journal.Point{Epoch: hex.EncodeToString(l.Epoch), Seq: l.Seq, Time: time.UnixMilli(l.Time)}, nil
}
