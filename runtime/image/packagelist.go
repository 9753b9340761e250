package image

import (
	"archive/tar"
	"io"
	"path"
	"strings"
	"sync"
)

const (
	statusFile = "var/lib/dpkg/status"
	maxStatus  = 32 << 20
)

// packageList is written an archive and finds the installed packages in it.
type packageList struct {
	w    *io.PipeWriter
	once sync.Once
	done chan struct{}
	text string // valid once done is closed
}

func newPackageList() *packageList {
	r, w := io.Pipe()
	l := &packageList{w: w, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.text = strings.Join(findPackages(r), "\n")
		_, _ = io.Copy(io.Discard, r) // the writer must never block on us
	}()
	return l
}

// Write takes more of the archive; it never fails.
func (l *packageList) Write(p []byte) (int, error) {
	_, _ = l.w.Write(p)
	return len(p), nil
}

// finish ends the archive and returns one "name=version" per line.
func (l *packageList) finish() string {
	l.once.Do(func() { _ = l.w.Close() })
	<-l.done
	return l.text
}

func findPackages(r io.Reader) []string {
	for archive := tar.NewReader(r); ; {
		hdr, err := archive.Next()
		if err != nil {
			return nil // an archive that is none is found by whoever unpacks it
		}
		if path.Clean(hdr.Name) == statusFile {
			return parseStatus(io.LimitReader(archive, maxStatus))
		}
	}
}
