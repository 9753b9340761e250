package image

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image/vet"
)

const (
	recordVersion   = 1
	recordType      = "prepared-lower"
	maxRecord       = 1 << 20
	preparerVersion = 1 // raise when the same layers would give another tree
	treeDirectory   = "directory"

	rootfsName = "rootfs"
	recordName = "record"
)

// content is what a lower's key stands for: the same content gives the same tree.
type content struct {
	Manifest string      `cbor:"1,keyasint"` // digest; empty for archives
	Config   string      `cbor:"2,keyasint"` // digest
	DiffIDs  []string    `cbor:"3,keyasint"`
	Platform string      `cbor:"4,keyasint"`
	Preparer uint32      `cbor:"5,keyasint"`
	Policy   uint32      `cbor:"6,keyasint"`
	IDs      runtime.IDs `cbor:"7,keyasint"` // ranges too: ownership on disk is in host ids
}

// key returns the name of the lower with this content.
func (c content) key() (string, error) {
	b, err := canon.Marshal(c)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x", sha256.Sum256(append([]byte("lazaret/v1/lower-key\x00"), b...))), nil
}

func contentOf(img *resolved, ids runtime.IDs) content {
	return content{
		Manifest: img.manifest,
		Config:   img.config,
		DiffIDs:  img.diffIDs(),
		Platform: platformName,
		Preparer: preparerVersion,
		Policy:   vet.PolicyVersion,
		IDs:      ids,
	}
}

// record describes a lower from beside its tree, so that the tree can be judged
// without any other store.
type record struct {
	Version  uint32   `cbor:"1,keyasint"`
	Type     string   `cbor:"2,keyasint"`
	Tree     string   `cbor:"3,keyasint"` // how the tree is kept: a directory
	Key      string   `cbor:"4,keyasint"`
	Content  content  `cbor:"5,keyasint"`
	Source   string   `cbor:"6,keyasint"` // as first asked for
	Index    string   `cbor:"7,keyasint"` // digest of the index it was chosen from, may be empty
	Layers   []string `cbor:"8,keyasint"` // digests as stored; empty for archives
	Env      []string `cbor:"9,keyasint"`
	User     string   `cbor:"10,keyasint"`
	Dir      string   `cbor:"11,keyasint"`
	Prepared int64    `cbor:"12,keyasint"` // Unix seconds
	Entries  int      `cbor:"13,keyasint"`
	Bytes    int64    `cbor:"14,keyasint"` // of file content
	Notes    []string `cbor:"15,keyasint"`
}

// Lower is a prepared lower: a root directory that is never written again.
type Lower struct {
	ID             string // content key, 64 hexadecimal digits
	Rootfs         string // absolute path of the tree on the host
	Source         string // as first asked for
	ManifestDigest string // empty for archives, which are named by ConfigDigest
	ConfigDigest   string
	Mode           runtime.Mode
	Env            []string // of the image, "NAME=value"
	User           string   // of the image, "" is root
	Dir            string   // working directory of the image
	PreparedUnix   int64    // seconds
	Entries        int
	Bytes          int64
	Notes          []string // what was left out or changed while unpacking
}

// Notice says what a person should know about the tree's id map, or nothing.
func (l Lower) Notice() string {
	if l.Mode != runtime.ModeSingle {
		return ""
	}
	return "this image is prepared for a single user id: every file belongs to root inside, set-id bits of other owners are cleared, " +
		"and programs that switch to another user fail"
}

func (r record) lower(root string) Lower {
	return Lower{
		ID:             r.Key,
		Rootfs:         filepath.Join(lowersDir(root), r.Key, rootfsName),
		Source:         r.Source,
		ManifestDigest: r.Content.Manifest,
		ConfigDigest:   r.Content.Config,
		Mode:           r.Content.IDs.Mode,
		Env:            r.Env,
		User:           r.User,
		Dir:            r.Dir,
		PreparedUnix:   r.Prepared,
		Entries:        r.Entries,
		Bytes:          r.Bytes,
		Notes:          r.Notes,
	}
}

// readRecord reads the record of the lower named key and holds it to its name.
func readRecord(root, key string) (record, error) {
	path := filepath.Join(lowersDir(root), key, recordName)
	b, err := readBounded(path, maxRecord)
	if err != nil {
		return record{}, fmt.Errorf("read lower record: %w", err)
	}
	var r record
	if err := canon.Unmarshal(b, maxRecord, &r); err != nil {
		return record{}, fmt.Errorf("read lower record %q: %w", path, err)
	}
	want, err := r.Content.key()
	if err != nil {
		return record{}, err
	}
	if r.Version != recordVersion || r.Type != recordType || r.Tree != treeDirectory || r.Key != key || want != key {
		return record{}, fmt.Errorf("read lower record %q: it does not describe lower %.12s", path, key)
	}
	info, err := os.Lstat(filepath.Join(lowersDir(root), key, rootfsName))
	if err != nil {
		return record{}, fmt.Errorf("look at lower: %w", err)
	}
	if !info.IsDir() {
		return record{}, fmt.Errorf("lower %.12s has no root directory", key)
	}
	return r, nil
}

// policy is the version a pin must have to be followed.
func policy() uint32 { return preparerVersion<<16 | vet.PolicyVersion }
