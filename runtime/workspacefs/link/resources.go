package link

import (
	"fmt"
	"os"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/packet"
	"lazaret.dev/lazaret/runtime"
)

// Resources is all a daemon has.
type Resources struct {
	Policy runtime.WorkspacePolicy
	// Tree and Git are the two FUSE connections.
	Tree, Git *os.File
	// Host is the workspace on the host, a mount that is attached nowhere.
	Host *os.File
	// Store is Domain storage: a directory of a mount that RS can mount parts of.
	// Transient is the generation's own storage, in memory.
	Store, Transient *os.File
	// GitDirs are Policy.GitDirs, one for one.
	GitDirs []*os.File
}

// fixed is how many descriptors come before GitDirs; the first is the policy.
const fixed = 6

// maxPolicy bounds an encoded policy, in bytes.
const maxPolicy = 8 << 20

// Files lists the descriptors in the order they travel in, but for the policy's.
func (r *Resources) Files() []*os.File {
	return append([]*os.File{r.Tree, r.Git, r.Host, r.Store, r.Transient}, r.GitDirs...)
}

// Send hands r over as the first message. Its files stay the caller's.
func (r *Resources) Send(conn *packet.Conn) error {
	record, err := canon.Marshal(r.Policy)
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
	r := &Resources{Tree: files[1], Git: files[2], Host: files[3], Store: files[4], Transient: files[5], GitDirs: files[fixed:]}
	record, err := packet.Unseal(files[0], maxPolicy)
	if err != nil {
		return nil, err
	}
	if err := canon.Unmarshal(record, maxPolicy, &r.Policy); err != nil {
		return nil, err
	}
	if len(r.GitDirs) != len(r.Policy.GitDirs) {
		return nil, fmt.Errorf("got %d git directories, want %d", len(r.GitDirs), len(r.Policy.GitDirs))
	}
	files[0].Close()
	return r, nil
}
