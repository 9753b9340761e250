package vet

import (
	"archive/tar"
	"fmt"
	"math"
	"strings"
	"time"
)

// Owners says which owners can be expressed: guest ids 0…UIDs-1 and 0…GIDs-1.
// With Collapse every owner becomes 0 and no id is out of range.
type Owners struct {
	UIDs, GIDs uint32
	Collapse   bool
}

// Action is what to do with an accepted header.
type Action string

// The actions.
const (
	Apply Action = "apply"
	Skip  Action = "skip"
)

// Entry is what a Vetter found out about an accepted header.
type Entry struct {
	Action   Action
	Parts    []string // components of the name; none for the root
	Whiteout bool
	Note     string // why it is skipped or was changed; empty when as found
}

// Vetter checks the headers of one image, in order. It is not safe for use by
// several goroutines.
type Vetter struct {
	limits Limits
	owners Owners
	layer  int // entries of the current layer
	image  int // entries of the image
	skip   func(Rule) bool
}

// New returns a Vetter for one image.
func New(limits Limits, owners Owners) *Vetter {
	return &Vetter{limits: limits, owners: owners, skip: func(Rule) bool { return false }}
}

// NextLayer begins another layer.
func (v *Vetter) NextLayer() { v.layer = 0 }

// Entries returns how many headers of the image were seen.
func (v *Vetter) Entries() int { return v.image }

// Entry checks hdr and, when it is accepted, rewrites it: a clean relative name,
// permission bits only, allowed attributes only, a sane time. The error is a
// *Refusal.
func (v *Vetter) Entry(hdr *tar.Header) (Entry, error) {
	found := hdr.Name
	entry, err := v.entry(hdr)
	if err != nil && !v.skip(err.Rule) {
		err.Name = found
		return Entry{}, err
	}
	return entry, nil
}

func (v *Vetter) entry(hdr *tar.Header) (Entry, *Refusal) {
	if err := v.count(hdr); err != nil {
		return Entry{}, err
	}
	if hdr.Typeflag == tar.TypeXGlobalHeader {
		return Entry{Action: Skip}, nil
	}
	parts, err := v.limits.Name(hdr.Name)
	if err != nil {
		return Entry{}, err
	}
	entry := Entry{Action: Apply, Parts: parts}
	if entry.Whiteout, err = whiteout(hdr.Name, parts); err != nil {
		return entry, err
	}
	if err := v.kind(hdr, &entry); err != nil || entry.Action == Skip {
		return entry, err
	}
	if err := v.owner(hdr); err != nil {
		return entry, err
	}
	if err := v.attributes(hdr); err != nil {
		return entry, err
	}
	hdr.Name = strings.Join(parts, "/")
	if len(parts) == 0 {
		hdr.Name = "."
	}
	normalise(hdr)
	return entry, nil
}

// count holds the limits that grow with the number of headers.
func (v *Vetter) count(hdr *tar.Header) *Refusal {
	v.layer++
	v.image++
	if v.layer > v.limits.EntriesPerLayer {
		return refuse(RuleEntryCount, hdr.Name, "the layer has more than %d entries", v.limits.EntriesPerLayer)
	}
	if v.image > v.limits.EntriesPerImage {
		return refuse(RuleEntryCount, hdr.Name, "the image has more than %d entries", v.limits.EntriesPerImage)
	}
	total := 0
	for name, value := range hdr.PAXRecords {
		total += len(name) + len(value)
		if strings.HasPrefix(name, "GNU.sparse.") {
			return refuse(RuleSparse, hdr.Name, "the file is stored sparse")
		}
	}
	if total > v.limits.PaxBytes {
		return refuse(RulePaxSize, hdr.Name, "%d bytes of extended records exceed the limit of %d", total, v.limits.PaxBytes)
	}
	return nil
}

// kind checks the type and what depends on it.
func (v *Vetter) kind(hdr *tar.Header, entry *Entry) *Refusal {
	if entry.Whiteout && hdr.Typeflag != tar.TypeReg {
		return refuse(RuleWhiteoutType, hdr.Name, "a whiteout has type %q", hdr.Typeflag)
	}
	if entry.Whiteout && hdr.Size != 0 {
		return refuse(RuleWhiteoutBody, hdr.Name, "a whiteout has %d bytes of content", hdr.Size)
	}
	if len(entry.Parts) == 0 && hdr.Typeflag != tar.TypeDir {
		return refuse(RuleRootType, hdr.Name, "the root has type %q", hdr.Typeflag)
	}
	if hdr.Size < 0 || hdr.Size > v.limits.FileBytes {
		return refuse(RuleFileSize, hdr.Name, "%d bytes are outside 0 to %d", hdr.Size, v.limits.FileBytes)
	}
	switch hdr.Typeflag {
	case tar.TypeReg:
		return nil
	case tar.TypeDir, tar.TypeFifo:
	case tar.TypeSymlink:
		return v.symlink(hdr)
	case tar.TypeLink:
		return v.hardLink(hdr)
	case tar.TypeChar, tar.TypeBlock:
		entry.Action = Skip
		if entry.Parts[0] != "dev" { // a sandbox has its own /dev
			entry.Note = fmt.Sprintf("device node %.200q left out", hdr.Name)
		}
		return nil
	case tar.TypeGNUSparse:
		return refuse(RuleSparse, hdr.Name, "the file is stored sparse")
	default:
		return refuse(RuleEntryType, hdr.Name, "type %q is unknown", hdr.Typeflag)
	}
	if hdr.Size != 0 {
		return refuse(RuleFileSize, hdr.Name, "type %q has %d bytes of content", hdr.Typeflag, hdr.Size)
	}
	return nil
}

func (v *Vetter) symlink(hdr *tar.Header) *Refusal {
	if n := len(hdr.Linkname); n == 0 || n > v.limits.LinkBytes {
		return refuse(RuleLinkLength, hdr.Name, "a link target of %d bytes is outside 1 to %d", n, v.limits.LinkBytes)
	}
	if strings.IndexByte(hdr.Linkname, 0) >= 0 {
		return refuse(RuleNameNUL, hdr.Name, "the link target holds a NUL byte")
	}
	hdr.Size = 0
	return nil
}

// hardLink holds the target to the rules of a name: it is one.
func (v *Vetter) hardLink(hdr *tar.Header) *Refusal {
	parts, err := v.limits.Name(hdr.Linkname)
	if err != nil {
		return refuse(RuleLinkTarget, hdr.Name, "hard link to %.200q: %s", hdr.Linkname, err.Detail)
	}
	if len(parts) == 0 {
		return refuse(RuleLinkTarget, hdr.Name, "hard link to the root")
	}
	for _, part := range parts {
		if strings.HasPrefix(part, whiteoutPrefix) {
			return refuse(RuleLinkTarget, hdr.Name, "hard link to the whiteout %.200q", hdr.Linkname)
		}
	}
	hdr.Linkname = strings.Join(parts, "/")
	hdr.Size = 0
	return nil
}

// owner holds ids to the map. The bounds are compared before any conversion, so
// that nothing is truncated into a valid id.
func (v *Vetter) owner(hdr *tar.Header) *Refusal {
	if v.owners.Collapse {
		if hdr.Uid != 0 || hdr.Gid != 0 {
			hdr.Mode &^= 0o6000 // set-id bits would now mean another owner
		}
		hdr.Uid, hdr.Gid = 0, 0
		return nil
	}
	for _, id := range []struct {
		what  string
		value int
		count uint32
	}{{"user", hdr.Uid, v.owners.UIDs}, {"group", hdr.Gid, v.owners.GIDs}} {
		if id.value < 0 || int64(id.value) >= int64(id.count) {
			return refuse(RuleOwner, hdr.Name, "%s id %d is outside the mapped range 0 to %d", id.what, id.value, int64(id.count)-1)
		}
	}
	return nil
}

// normalise drops what an extractor has no business with.
func normalise(hdr *tar.Header) {
	hdr.Mode &= 0o7777
	hdr.AccessTime, hdr.ChangeTime = time.Time{}, time.Time{}
	if s := hdr.ModTime.Unix(); s < 0 || s > math.MaxUint32 {
		hdr.ModTime = time.Unix(0, 0)
	}
	hdr.Devmajor, hdr.Devminor = 0, 0
	hdr.Uname, hdr.Gname = "", ""
	if hdr.Typeflag != tar.TypeLink && hdr.Typeflag != tar.TypeSymlink {
		hdr.Linkname = ""
	}
}
