package seal_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"testing"

	"lazaret.dev/lazaret/escalate/seal"
)

func sandboxKey(t *testing.T) seal.SandboxKey {
	t.Helper()
	k, err := seal.SandboxKeyFrom(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// The bytes are a promise: another implementation must make the same ones.
func TestGoldenVector(t *testing.T) {
	t.Parallel()
	sealed := sandboxKey(t).Seal(seal.Request, []byte("payload"))
	const want = "0a3c81718023c185a4339d57a615a08b673d6d0299165627e68b9325c906feb2587ed6719232839bd57abebe23c1bd64841cb2bdff12c12ae8ce8ca12286fe00" +
		"7061796c6f6164"
	if got := hex.EncodeToString(sealed); got != want {
		t.Errorf("sealed request is\n%s, want\n%s", got, want)
	}
	const digest = "23023fba7aee9a73b4e2562eec84b3436da4e444b276afd2f1b9e302d494e029"
	if got := hex.EncodeToString(seal.ShownDigest([]byte("payload"))); got != digest {
		t.Errorf("shown digest is %s, want %s", got, digest)
	}
}

// The message is built here once more, by hand.
func TestMessageIsNamedAndMeasured(t *testing.T) {
	t.Parallel()
	k := sandboxKey(t)
	sealed := k.Seal(seal.Cancel, []byte("ab"))
	message := []byte("lazaret/v1/cancel\x00\x00\x00\x00\x00\x00\x00\x00\x02ab")
	if !ed25519.Verify(k.Public().Bytes(), message, sealed[:seal.SignatureSize]) {
		t.Error("the signed message is not name, zero, length, payload")
	}
}

func TestOpenRefusesWhatWasNotSignedAsThat(t *testing.T) {
	t.Parallel()
	k := sandboxKey(t)
	good := k.Seal(seal.Request, []byte("payload"))
	if got, err := k.Public().Open(seal.Request, good); err != nil || string(got) != "payload" {
		t.Fatalf("harmless twin: %q, %v", got, err)
	}
	other, err := seal.NewSandboxKey()
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(good)
	flipped[len(flipped)-1] ^= 1
	for name, try := range map[string]func() error{
		"another record":    func() error { _, err := k.Public().Open(seal.Ack, good); return err },
		"another key":       func() error { _, err := other.Public().Open(seal.Request, good); return err },
		"a changed payload": func() error { _, err := k.Public().Open(seal.Request, flipped); return err },
		"a longer payload":  func() error { _, err := k.Public().Open(seal.Request, append(bytes.Clone(good), 0)); return err },
		"a shorter payload": func() error { _, err := k.Public().Open(seal.Request, good[:len(good)-1]); return err },
		"no signature":      func() error { _, err := k.Public().Open(seal.Request, good[:10]); return err },
		"nothing":           func() error { _, err := k.Public().Open(seal.Request, nil); return err },
		"a zero key":        func() error { _, err := (seal.SandboxPublic{}).Open(seal.Request, good); return err },
	} {
		if err := try(); !errors.Is(err, seal.ErrSignature) {
			t.Errorf("%s: %v, want ErrSignature", name, err)
		}
	}
}

func TestKeysOfAnotherLengthAreRefused(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 31, 33, 64} {
		b := make([]byte, n)
		_, err1 := seal.SandboxKeyFrom(b)
		_, err2 := seal.CoordinatorPublicFrom(b)
		_, err3 := seal.AnchorPublicFrom(b)
		if !errors.Is(err1, seal.ErrKey) || !errors.Is(err2, seal.ErrKey) || !errors.Is(err3, seal.ErrKey) {
			t.Errorf("%d bytes: %v, %v, %v", n, err1, err2, err3)
		}
	}
	if _, err := seal.AnchorPublicFrom(make([]byte, 32)); err != nil {
		t.Errorf("32 bytes: %v", err)
	}
}
