package supervisor

import (
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"lazaret.dev/lazaret/runtime/guest/control"
)

// What the host changes in the workspace is found by the file system's daemon, which
// says at a bounded rate what to poke (runtime/workspacefs/notify); RS passes it on,
// and HC has the guest init do it.

// pokeable tells whether name is a clean path in the workspace, or "." for its top. The
// daemon reads what the sandbox writes: neither RS nor HC takes its word.
func pokeable(name string) bool {
	return utf8.ValidString(name) && len(name) <= control.MaxPath && !strings.ContainsRune(name, 0) &&
		filepath.IsLocal(name) && path.Clean(name) == name
}

// changedMessage is what RS tells HC of a path the daemon names, if anything.
func changedMessage(name []byte) (m message, ok bool) {
	return message{Kind: kindChanged, Text: string(name)}, pokeable(string(name))
}

// maxPokes bounds what waits for a slow guest. What does not fit is dropped: a poke is
// a hint.
const maxPokes = 128

// changed queues the poke for one message. It never blocks.
func (s *sandbox) changed(m message) {
	if !pokeable(m.Text) {
		return
	}
	select {
	case s.pokes <- path.Join(s.spec.WorkspaceGuest, m.Text):
	default:
	}
}

// pokeChanged pokes one path after another until the sandbox ends. What fails is gone
// again, is no file or directory, or is not seen by the guest.
func (s *sandbox) pokeChanged(poke func(guestPath string) error) {
	for {
		select {
		case p := <-s.pokes:
			_ = poke(p)
		case <-s.done:
			return
		}
	}
}
