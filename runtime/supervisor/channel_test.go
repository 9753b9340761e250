package supervisor

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
)

// These are tests of unexported mechanics: the channel has no other user.

func channels(t *testing.T) (a, b *channel) {
	t.Helper()
	ours, theirs, err := newChannelPair()
	if err != nil {
		t.Fatal(err)
	}
	if a, err = openChannel(ours); err != nil {
		t.Fatal(err)
	}
	if b, err = openChannel(theirs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.close(); b.close() })
	return a, b
}

func TestMessagesAndDescriptorsArrive(t *testing.T) {
	t.Parallel()
	a, b := channels(t)
	file, err := sealed("test", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := message{Kind: kindExited, ID: 7, Code: -1, Text: "text", Names: []string{"x"}, Counts: []uint32{1}}
	if err := a.send(want, file); err != nil {
		t.Fatal(err)
	}
	got, files, err := b.receive()
	if err != nil || !reflect.DeepEqual(got, want) || len(files) != 1 {
		t.Fatalf("got %+v, %d files, %v", got, len(files), err)
	}
	defer closeAll(files)
	if data, err := unseal(files[0], 100); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := unseal(files[0], 3); err == nil {
		t.Error("a file above the limit was read")
	}
	if _, err := files[0].WriteAt([]byte("x"), 0); err == nil {
		t.Error("a sealed file was written")
	}
	if flags, err := unix.FcntlInt(files[0].Fd(), unix.F_GETFD, 0); err != nil || flags&unix.FD_CLOEXEC == 0 {
		t.Error("a received descriptor would be inherited")
	}
}

func TestTheOtherEndsDeathIsTheEnd(t *testing.T) {
	t.Parallel()
	a, b := channels(t)
	a.close()
	if _, _, err := b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// What the other end said before it died is heard, even if it left ours unread.
func TestLastWordsAreHeard(t *testing.T) {
	t.Parallel()
	a, b := channels(t)
	if err := b.send(message{Text: "never read"}); err != nil {
		t.Fatal(err)
	}
	if err := a.send(message{Text: "why"}); err != nil {
		t.Fatal(err)
	}
	a.close()
	if m, _, err := b.receive(); err != nil || m.Text != "why" {
		t.Errorf("got %q, %v", m.Text, err)
	}
	if _, _, err := b.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestTooLargeMessagesAreRefused(t *testing.T) {
	t.Parallel()
	a, b := channels(t)
	if err := a.send(message{Text: strings.Repeat("x", maxMessage)}); err == nil {
		t.Error("a message above the limit was sent")
	}
	if err := a.send(message{Text: strings.Repeat("x", maxMessage-100)}); err != nil {
		t.Error(err)
	}
	if m, _, err := b.receive(); err != nil || len(m.Text) != maxMessage-100 {
		t.Errorf("%d bytes, %v", len(m.Text), err)
	}
}

func TestForeignBytesAreRefused(t *testing.T) {
	t.Parallel()
	a, b := channels(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if _, _, err := a.conn.WriteMsgUnix([]byte("not a record"), unix.UnixRights(int(null.Fd())), nil); err != nil {
		t.Fatal(err)
	}
	if _, files, err := b.receive(); err == nil || len(files) != 0 {
		t.Errorf("got %v with %d files", err, len(files))
	}
}

func TestFailuresCrossTheChannel(t *testing.T) {
	t.Parallel()
	cause := &fault.Error{Kind: fault.Config, Message: "bad", Fix: "do this", Err: errors.New("why")}
	err := failure(cause).err()
	if fault.KindOf(err) != fault.Config || fault.FixOf(err) != "do this" || err.Error() != "bad: why" {
		t.Errorf("got %v, fix %q", err, fault.FixOf(err))
	}
	if err := failure(errors.New("plain")).err(); err.Error() != "plain" || fault.KindOf(err) != fault.General {
		t.Errorf("got %v", err)
	}
}

func TestTailKeepsTheEndInOneLine(t *testing.T) {
	t.Parallel()
	text, err := newTail()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(text.w, strings.Repeat("x", 2*maxTail)+"\n\x1b[31mend\n"); err != nil {
		t.Fatal(err)
	}
	text.started()
	<-text.done
	if got := text.text(); len(got) > maxTail || !strings.HasSuffix(got, " [31mend") || strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-20:])
	}
}
