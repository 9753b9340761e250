package fusefs

import (
	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// Some files of a git directory the host's git trusts more than it should. They come to
// be by a rename only (guard refuses everything else), and what they are to say is
// judged before. From then on nobody inside writes them: FS.tree is held for writing
// from the look to the rename, so that no write begins; none is under way; the file
// has no second name; and later writes to it are judged by its new name.

// Vetter judges what the host's git is about to trust.
type Vetter interface {
	// Check says whether content may become the file name of dir.
	Check(dir route.Directory, name string, content []byte) error
}

// maxVetted bounds such a file, in bytes.
const maxVetted = 256 << 20

// vetted decides whether what is at a, in the open directory dir, may become what is
// decided for b. FS.tree is held for writing.
func (v *view) vetted(dir int, a, b *end) error {
	if !b.becomes.Vetted {
		return nil
	}
	says, err := v.settled(dir, a)
	if err != nil {
		return err
	}
	rules, err := v.rules(b.dir)
	if err != nil {
		return err
	}
	if vetter := v.fs.config.Vetter; vetter == nil || vetter.Check(rules, b.name, says) != nil {
		return unix.EROFS
	}
	return nil
}

// settled returns the content of a file that nobody inside writes. It fails with EBUSY
// where somebody might.
func (v *view) settled(dir int, a *end) ([]byte, error) {
	place, err := openPath(dir, a.name, 0)
	if err != nil {
		return nil, stale(err)
	}
	defer unix.Close(place)
	st, err := stat(place)
	switch {
	case err != nil:
		return nil, err
	case identify(st) != a.f.key().identity:
		return nil, unix.ESTALE
	case uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG, st.Size > maxVetted:
		return nil, unix.EROFS
	case st.Nlink != 1 || v.fs.busy.is(identify(st)):
		return nil, unix.EBUSY
	}
	fd, err := v.fs.reopen(place, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return readWhole(fd, int(st.Size))
}

// readWhole reads a file of the given size. It fails with EBUSY when it has another.
func readWhole(fd, size int) ([]byte, error) {
	data := make([]byte, size+1)
	read := 0
	for read < len(data) {
		var n int
		err := again(func() (err error) {
			n, err = unix.Pread(fd, data[read:], int64(read))
			return err
		})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		read += n
	}
	if read != size {
		return nil, unix.EBUSY
	}
	return data[:size], nil
}
