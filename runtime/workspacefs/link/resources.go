package link

import (
	"fmt"
	"os"
	"slices"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/packet"
	"lazaret.dev/lazaret/runtime"
)

// Resources is all a daemon has.
type Resources struct {
	Policy runtime.WorkspacePolicy
	// Workspace is the path the host knows the workspace by, as the host's git
	// configuration has it. Nothing is opened by it.
	Workspace string
	// Tree and Git are the two FUSE connections.
	Tree, Git *os.File
	// Host is the workspace on the host, a mount that is attached nowhere.
	Host *os.File
	// Store is Domain storage: a directory of a mount that RS can mount parts of.
	// Transient is the generation's own storage, in memory.
	Store, Transient *os.File
	// GitDirs are Policy.GitDirs, one for one, and GitDirFuses a connection for each.
	GitDirs, GitDirFuses []*os.File
}

// fixed is how many descriptors come before GitDirs; the first is the policy.
const fixed = 6

// maxPolicy bounds an encoded policy, in bytes.
const maxPolicy = 8 << 20

// told is what travels as a record.
type told struct {
	Policy    runtime.WorkspacePolicy `cbor:"1,keyasint"`
	Workspace string                  `cbor:"2,keyasint"`
}

// Files lists the descriptors in the order they travel in, but for the policy's.
func (r *Resources) Files() []*os.File {
	return slices.Concat([]*os.File{r.Tree, r.Git, r.Host, r.Store, r.Transient}, r.GitDirs, r.GitDirFuses)
}

// Send hands r over as the first message. Its files stay the caller's.
func (r *Resources) Send(conn *packet.Conn) error {
	record, err := canon.Marshal(told{r.Policy, r.Workspace})
	if err != nil {
		return err
	}
	policy, err := packet.Seal("lazaret-policy", record)
	if err != nil {
		return err
	}
	defer policy.Close()
	return conn.Send(Message{Kind: KindStart}, append([]*os.File{policy}, r.Files()...)...)
}

// Receive takes r from the first message. Its files become the caller's.
func Receive(conn *packet.Conn) (_ *Resources, err error) {
	var m Message
	files, err := conn.Receive(&m)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			packet.CloseAll(files)
		}
	}()
	if m.Kind != KindStart || len(files) < fixed {
		return nil, fmt.Errorf("first message is %d with %d descriptors, want a start", m.Kind, len(files))
	}
	r := &Resources{Tree: files[1], Git: files[2], Host: files[3], Store: files[4], Transient: files[5]}
	record, err := packet.Unseal(files[0], maxPolicy)
	if err != nil {
		return nil, err
	}
	var t told
	if err := canon.Unmarshal(record, maxPolicy, &t); err != nil {
		return nil, err
	}
	r.Policy, r.Workspace = t.Policy, t.Workspace
	outside := len(r.Policy.GitDirs)
	if len(files) != fixed+2*outside {
		return nil, fmt.Errorf("got %d descriptors for %d git directories", len(files), outside)
	}
	r.GitDirs, r.GitDirFuses = files[fixed:fixed+outside], files[fixed+outside:]
	files[0].Close()
	return r, nil
}
