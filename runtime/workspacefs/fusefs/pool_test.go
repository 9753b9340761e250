package fusefs

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func openNull(tb testing.TB) int {
	tb.Helper()
	fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		tb.Fatal(err)
	}
	return fd
}

func isOpen(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil
}

// Not parallel: what is closed must not be opened by others meanwhile.
func TestPoolClosesWhatIsUsedLeast(t *testing.T) {
	p := newPool(16)
	slots := make([]slot, 17)
	fds := make([]int, 17)
	for i := range slots {
		fds[i] = openNull(t)
		if i == 16 {
			p.take(&slots[0]).release() // now the second is the least used
		}
		p.keep(&slots[i], fds[i]).release()
	}
	for i, want := range map[int]bool{0: true, 1: false, 2: true, 16: true} {
		if isOpen(fds[i]) != want {
			t.Errorf("descriptor %d: open is %v", i, !want)
		}
	}
	for i := range slots {
		p.drop(&slots[i])
	}
	if isOpen(fds[0]) || isOpen(fds[16]) {
		t.Error("dropped ones are open")
	}
}

func TestPoolKeepsWhatIsInUseOrPinned(t *testing.T) {
	p := newPool(16)
	var used, pinned slot
	a, b := openNull(t), openNull(t)
	d := p.keep(&used, a)
	p.pin(&pinned, b)
	others := make([]slot, 40)
	for i := range others {
		p.keep(&others[i], openNull(t)).release()
	}
	if !isOpen(a) || !isOpen(b) {
		t.Error("closed what is in use, or pinned")
	}
	if p.take(&used) != nil {
		t.Error("an evicted descriptor is still handed out")
	}
	d.release()
	if isOpen(a) {
		t.Error("open after its last use")
	}
	p.drop(&pinned)
	if isOpen(b) {
		t.Error("open after its drop")
	}
	for i := range others {
		p.drop(&others[i])
	}
}

func TestPoolKeepsTheFirstOfTwo(t *testing.T) {
	p := newPool(16)
	var s slot
	a, b := openNull(t), openNull(t)
	p.keep(&s, a).release()
	if d := p.keep(&s, b); d.fd != a || isOpen(b) {
		t.Error("the second came in place of the first")
	} else {
		d.release()
	}
	p.drop(&s)
}
