package packet_test

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/packet"
)

type record struct {
	ID   uint64 `cbor:"1,keyasint"`
	Text string `cbor:"2,keyasint"`
}

func files(t *testing.T) (a, b *os.File) {
	t.Helper()
	a, b, err := packet.Pair("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close(); b.Close() })
	return a, b
}

func open(t *testing.T, f *os.File) *packet.Conn {
	t.Helper()
	c, err := packet.Open(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func pair(t *testing.T) (a, b *packet.Conn) {
	t.Helper()
	x, y := files(t)
	return open(t, x), open(t, y)
}

func TestRecordsAndDescriptorsArrive(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	file, err := packet.Seal("test", []byte("content"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	want := record{ID: 7, Text: "text"}
	if err := a.Send(want, file); err != nil {
		t.Fatal(err)
	}
	var got record
	files, err := b.Receive(&got)
	if err != nil || !reflect.DeepEqual(got, want) || len(files) != 1 {
		t.Fatalf("got %+v, %d files, %v", got, len(files), err)
	}
	defer packet.CloseAll(files)
	if data, err := packet.Unseal(files[0], 100); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
	if _, err := packet.Unseal(files[0], 3); err == nil {
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
	a, b := pair(t)
	a.Close()
	if _, err := b.Receive(&record{}); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// What the other end said before it died is heard, even if it left ours unread.
func TestLastWordsAreHeard(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if err := b.Send(record{Text: "never read"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(record{Text: "why"}); err != nil {
		t.Fatal(err)
	}
	a.Close()
	var r record
	if _, err := b.Receive(&r); err != nil || r.Text != "why" {
		t.Errorf("got %q, %v", r.Text, err)
	}
	if _, err := b.Receive(&r); !errors.Is(err, io.EOF) {
		t.Errorf("afterwards: %v", err)
	}
}

func TestTooLargeRecordsAreRefused(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	if err := a.Send(record{Text: strings.Repeat("x", packet.MaxRecord)}); err == nil {
		t.Error("a record above the limit was sent")
	}
	if err := a.Send(record{Text: strings.Repeat("x", packet.MaxRecord-100)}); err != nil {
		t.Error(err)
	}
	var r record
	if _, err := b.Receive(&r); err != nil || len(r.Text) != packet.MaxRecord-100 {
		t.Errorf("%d bytes, %v", len(r.Text), err)
	}
}

// Bytes that are no record, and packets longer than any, leave no descriptor behind.
func TestForeignPacketsAreRefused(t *testing.T) {
	t.Parallel()
	for what, bytes := range map[string][]byte{
		"no record": []byte("not a record"), "too long": make([]byte, packet.MaxRecord+1),
	} {
		raw, theirs := files(t)
		b := open(t, theirs)
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		defer null.Close()
		if err := unix.Sendmsg(int(raw.Fd()), bytes, unix.UnixRights(int(null.Fd())), nil, 0); err != nil {
			t.Fatal(err)
		}
		if files, err := b.Receive(&record{}); err == nil || len(files) != 0 {
			t.Errorf("%s: got %v with %d files", what, err, len(files))
		}
	}
}
