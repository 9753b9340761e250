package wire_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/seal"
	"lazaret.dev/lazaret/escalate/wire"
	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/domain"
)

const (
	testSession = domain.SessionID("00112233445566778899aabbccddeeff")
	testRequest = domain.RequestID("ffeeddccbbaa99887766554433221100")
)

func keys(t testing.TB) (seal.SandboxKey, seal.CoordinatorKey) {
	t.Helper()
	s, err := seal.SandboxKeyFrom(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	c, err := seal.CoordinatorKeyFrom(bytes.Repeat([]byte{2}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

func must(t testing.TB, b []byte, err error) []byte {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRequestRoundTrip(t *testing.T) {
	t.Parallel()
	s, _ := keys(t)
	want := wire.Request{ID: testRequest, Session: testSession, Argv: []string{"git", "push"}, Dir: "/workspace", Why: "ü", Capability: []byte{1}}
	sealed, err := wire.SealSandbox(s, seal.Request, want)
	got, err := wire.OpenRequest(s.Public(), must(t, sealed, err))
	if err != nil || got.ID != want.ID || got.Why != want.Why || strings.Join(got.Argv, " ") != "git push" {
		t.Fatalf("got %+v, %v", got, err)
	}
}

func TestOpenRefusesWhatIsNotCanonical(t *testing.T) {
	t.Parallel()
	s, _ := keys(t)
	good, err := canon.Marshal(wire.Cancel{Request: testRequest, Session: testSession})
	good = must(t, good, err)
	if _, err := wire.OpenCancel(s.Public(), s.Seal(seal.Cancel, good)); err != nil {
		t.Fatalf("harmless twin: %v", err)
	}
	for name, payload := range map[string][]byte{
		"trailing byte":   append(bytes.Clone(good), 0),
		"another type":    {0x01},
		"nothing":         {},
		"unknown field":   append([]byte{0xa3}, append(bytes.Clone(good[1:]), 0x09, 0x01)...),
		"bad UTF-8":       bytes.Replace(bytes.Clone(good), []byte("ff"), []byte{0xff, 0xfe}, 1),
		"deep nesting":    bytes.Repeat([]byte{0x81}, 5000),
		"huge array":      {0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"huge string":     {0xa1, 0x01, 0x7b, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		"foreign request": bytes.Replace(bytes.Clone(good), []byte("ff"), []byte("/."), 1),
	} {
		if _, err := wire.OpenCancel(s.Public(), s.Seal(seal.Cancel, payload)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestRecordsKeepTheirLimits(t *testing.T) {
	t.Parallel()
	s, c := keys(t)
	chunk := func(n int) []byte {
		b, err := wire.SealCoordinator(c, seal.Chunk, wire.Chunk{Request: testRequest, Sequence: 1, Stream: wire.Stdout, Data: make([]byte, n)})
		return must(t, b, err)
	}
	if b := chunk(wire.MaxChunk); len(b) > wire.MaxRecord {
		t.Errorf("a full chunk has %d bytes", len(b))
	} else if _, err := wire.OpenChunk(c.Public(), b); err != nil {
		t.Errorf("a full chunk: %v", err)
	}
	if _, err := wire.OpenChunk(c.Public(), chunk(wire.MaxChunk+1)); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a longer chunk: %v", err)
	}
	if _, err := wire.SealSandbox(s, seal.Request, wire.Request{Why: strings.Repeat("x", wire.MaxRecord)}); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a record over the limit: %v", err)
	}
	largest := wire.Request{ID: testRequest, Session: testSession, Why: strings.Repeat("w", escalate.MaxWhyBytes), Dir: "/" + strings.Repeat("d", 4095)}
	for range escalate.MaxArgs {
		largest.Argv = append(largest.Argv, strings.Repeat("a", escalate.MaxArgvBytes/escalate.MaxArgs))
	}
	if _, err := wire.SealSandbox(s, seal.Request, largest); err != nil {
		t.Errorf("the largest request allowed: %v", err)
	}
}

func TestParseRequestName(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]wire.Kind{
		wire.RequestName(testRequest):             wire.KindRequest,
		wire.CancelName(testRequest):              wire.KindCancel,
		wire.AckName(testRequest, 12, false):      wire.KindAck,
		wire.AckName(testRequest, 12, true):       wire.KindAck,
		wire.TemporaryName(testRequest):           wire.KindTemporary,
		wire.AckName(testRequest, 1<<32-1, false): wire.KindAck,
	} {
		if id, got, ok := wire.ParseRequestName(name); !ok || got != kind || id != testRequest {
			t.Errorf("%q is %v %v %v", name, id, got, ok)
		}
	}
	id := string(testRequest)
	for _, bad := range []string{"", ".", "..", id, id + ".", id + ".requests", "." + id + ".request", id[1:] + ".request",
		strings.ToUpper(id) + ".request", id + ".-1.ack", id + ".12345678901.ack", id + "..ack", id + ".1.chunk", id + ".1.ack.tmp", "a/" + id + ".request"} {
		if _, _, ok := wire.ParseRequestName(bad); ok {
			t.Errorf("%q was taken for one of ours", bad)
		}
	}
}

// A payload that is accepted is the only encoding of what it says.
func fuzzRecord[T any](f *testing.F, seed any) {
	b, err := canon.Marshal(seed)
	f.Add(must(f, b, err))
	f.Add([]byte{0xa0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		var v T
		if canon.Unmarshal(payload, wire.MaxRecord, &v) != nil {
			return
		}
		again, err := canon.Marshal(&v)
		if err != nil || !bytes.Equal(again, payload) {
			t.Fatalf("%x decodes to %+v, which encodes to %x (%v)", payload, v, again, err)
		}
	})
}

func FuzzRequest(f *testing.F) {
	fuzzRecord[wire.Request](f, wire.Request{ID: testRequest, Session: testSession, Argv: []string{"a", ""}, Dir: "/", Capability: []byte{0}})
}

func FuzzAck(f *testing.F) {
	fuzzRecord[wire.Ack](f, wire.Ack{Request: testRequest, Session: testSession, Sequence: 3, Final: true})
}

func FuzzResult(f *testing.F) {
	fuzzRecord[wire.Result](f, wire.Result{Request: testRequest, Outcome: escalate.OutcomeRan, Status: 130, Chunks: 2, Argv: []string{"x"}, Reason: "r"})
}

func FuzzChunk(f *testing.F) {
	fuzzRecord[wire.Chunk](f, wire.Chunk{Request: testRequest, Sequence: 1, Stream: wire.Stderr, Data: []byte("out")})
}

func FuzzParseRequestName(f *testing.F) {
	f.Add(wire.RequestName(testRequest))
	f.Add(wire.AckName(testRequest, 7, false))
	f.Fuzz(func(t *testing.T, name string) {
		id, _, ok := wire.ParseRequestName(name)
		if ok && (!strings.HasPrefix(name, string(id)+".") || strings.ContainsAny(name, "/\x00")) {
			t.Fatalf("%q was taken for one of %q", name, id)
		}
	})
}
