package wire_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/escalate"
)

var update = flag.Bool("update", false, "write the golden vectors anew")

// samples is one message of every kind, with every field set.
func samples() []wire.Message {
	pending := escalate.Pending{
		Request: escalate.Request{ID: "0f", Session: "aa", Argv: []string{"git", "push"}, Dir: ".", Why: "because"},
		Digest:  []byte{1, 2}, Profile: "shell", Program: "/usr/bin/git", ProgramError: "none",
		HostDir: "/w", HostUser: "dev", ReceivedUnix: 1, ExpiresUnix: 2, Warnings: []string{"runs project code"},
	}
	return []wire.Message{
		wire.Hello{Version: 1, Purpose: wire.PurposeSession, Client: "c", Domain: "d", Fingerprint: []byte{9},
			Facts: []wire.Fact{{Name: "image", Value: "builtin"}}, Anchor: []byte{7}},
		wire.Start{Argv: []string{"sh"}, Env: []string{"TERM=xterm"}, Dir: "/w", TTY: true, Size: wire.Size{Rows: 24, Cols: 80}, Name: "n"},
		wire.Input{Data: []byte("x\x00\xff")},
		wire.InputEOF{},
		wire.Resize{Size: wire.Size{Rows: 1, Cols: 65535}},
		wire.Signal{Event: wire.EventInterrupt},
		wire.Close{},
		wire.Decide{Decision: escalate.SignedDecision{Payload: []byte{1}, Signature: []byte{2}}},
		wire.Query{},
		wire.Welcome{Version: 1, Generation: "g", Session: "s", Profile: "p", Workspace: "/w"},
		wire.Started{Argv: []string{"sh"}},
		wire.Output{Stream: wire.StreamStderr, Data: []byte("err")},
		wire.Exit{Code: 137, Lost: true, Reason: "r"},
		wire.Refused{Code: wire.CodeFingerprint, Message: "m", Fix: "f"},
		wire.Pending{Pending: pending},
		wire.Resolved{Request: "r", Outcome: escalate.OutcomeRan, Detail: "0"},
		wire.Status{Domain: "d", Generation: "g", Profile: "p", Workspace: "/w", Mode: "single", StartedUnix: 3,
			Sessions: []wire.SessionStatus{{Session: "s", Name: "n", Argv: []string{"sh"}, TTY: true, StartedUnix: 4, Pending: 5}},
			Pending:  6, NetworkUp: true, NetworkReason: "nr", Policy: []string{"deny"}, Limits: []string{"none"},
			Lower: "l", Log: "/log", Anchors: []string{"/usr"}, CoordinatorID: 7},
		wire.Notice{Level: wire.LevelWarning, Text: "t"},
		wire.InputCredit{Bytes: 65536},
	}
}

// TestGoldenVectors pins every message's bytes: other builds read them.
func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "vectors.txt")
	var lines []string
	for _, m := range samples() {
		frame, err := wire.Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, fmt.Sprintf("%T %s", m, hex.EncodeToString(frame)))
	}
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the protocol's bytes changed:\n%s\nwant:\n%s", got, want)
	}
}

func TestEveryKindRoundTrips(t *testing.T) {
	t.Parallel()
	seen := map[wire.Kind]bool{}
	for _, m := range samples() {
		seen[m.Kind()] = true
		var buf bytes.Buffer
		if err := wire.Write(&buf, m); err != nil {
			t.Fatal(err)
		}
		back, err := wire.Read(&buf)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%T came back as %+v, %v", m, back, err)
		}
	}
	for kind := range 256 {
		_, err := wire.Decode([]byte{byte(kind), 0xa0})
		if unknown := errors.Is(err, wire.ErrUnknownKind); unknown == seen[wire.Kind(kind)] {
			t.Errorf("kind %d: err = %v, sampled = %v", kind, err, seen[wire.Kind(kind)])
		}
	}
}

// TestOversizeIsRefusedBeforeItIsRead: the reader has no byte of the body to give,
// so only a refusal by the length alone can return ErrTooLong.
func TestOversizeIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	for _, head := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0, 0x10, 0, 1}} {
		if _, err := wire.Read(bytes.NewReader(head)); !errors.Is(err, wire.ErrTooLong) {
			t.Errorf("length %x: err = %v", head, err)
		}
	}
	if _, err := wire.Read(bytes.NewReader([]byte{0, 0x10, 0, 0})); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the longest allowed frame: err = %v", err)
	}
	if _, err := wire.Encode(wire.Input{Data: make([]byte, wire.MaxFrame)}); !errors.Is(err, wire.ErrTooLong) {
		t.Errorf("encode: err = %v", err)
	}
}

func TestReadTellsEndFromTruncation(t *testing.T) {
	t.Parallel()
	frame, err := wire.Encode(wire.Notice{Level: wire.LevelInfo, Text: "hello"})
	if err != nil {
		t.Fatal(err)
	}
	for n := range frame {
		_, err := wire.Read(bytes.NewReader(frame[:n]))
		if n == 0 && !errors.Is(err, io.EOF) || n > 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: err = %v", n, len(frame), err)
		}
	}
}

func TestDecodeIsStrict(t *testing.T) {
	t.Parallel()
	// {1: 1, 2: "x"} is a Notice; each other line is one defect away from it.
	for name, record := range map[string]string{
		"unknown key":    "a30101026178" + "0301",
		"duplicate key":  "a3010102617802" + "6178",
		"trailing bytes": "a2010102617800",
		"long integer":   "a201180102" + "6178",
		"indefinite":     "bf0101026178ff",
		"bad UTF-8":      "a201010261ff",
		"other order":    "a2026178" + "0101",
		"wrong type":     "a20161780261" + "78",
		"empty":          "",
	} {
		body, err := hex.DecodeString(record)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := wire.Decode(append([]byte{byte(wire.KindNotice)}, body...)); err == nil {
			t.Errorf("%s was accepted as %+v", name, m)
		}
	}
	good, _ := hex.DecodeString("a20101026178")
	if m, err := wire.Decode(append([]byte{byte(wire.KindNotice)}, good...)); err != nil || m != (wire.Notice{Level: 1, Text: "x"}) {
		t.Errorf("the harmless twin: %+v, %v", m, err)
	}
}

// FuzzDecode: whatever decodes encodes to the same bytes.
func FuzzDecode(f *testing.F) {
	for _, m := range samples() {
		frame, err := wire.Encode(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame[4:])
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := wire.Decode(frame)
		if err != nil {
			return
		}
		again, err := wire.Encode(m)
		if err != nil || !bytes.Equal(again[4:], frame) {
			t.Fatalf("%x decoded to %+v and encodes to %x, %v", frame, m, again, err)
		}
	})
}
