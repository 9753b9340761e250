package image_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/image/vet"
)

func TestReadLayerByContent(t *testing.T) {
	t.Parallel()
	plain := archived(dir("d"), reg("d/f", strings.Repeat("text ", 5000)))
	for name, store := range map[string]func([]byte) []byte{
		"gzip": gzipped, "zstd": zstded, "plain": func(b []byte) []byte { return b },
		"two gzip members": func(b []byte) []byte { return append(gzipped(b[:1000]), gzipped(b[1000:])...) },
	} {
		stored := store(plain)
		_, digest, diffID, err := image.ReadLayer(bytes.NewReader(stored), vet.DefaultLimits())
		if err != nil || digest != digestOf(stored) || diffID != digestOf(plain) {
			t.Errorf("%s: %s %s, %v", name, digest, diffID, err)
		}
	}
}

func TestReadLayerRefusesWhatFollows(t *testing.T) {
	t.Parallel()
	plain := archived(reg("f", "text"))
	limits := vet.DefaultLimits()
	limits.TrailingZeros = 4096
	zeros := func(n int) []byte { return make([]byte, n) }
	for name, c := range map[string]struct{ bad, twin []byte }{
		"data after the end":     {gzipped(append(bytes.Clone(plain), 'x')), gzipped(append(bytes.Clone(plain), 0))},
		"a second archive":       {gzipped(append(bytes.Clone(plain), plain...)), gzipped(plain)},
		"endless padding":        {gzipped(append(bytes.Clone(plain), zeros(5000)...)), gzipped(append(bytes.Clone(plain), zeros(1024)...))},
		"bytes after gzip":       {append(gzipped(plain), 'x'), gzipped(plain)},
		"bytes after zstd":       {append(zstded(plain), "garbage"...), zstded(plain)},
		"truncated gzip":         {gzipped(plain)[:60], gzipped(plain)},
		"truncated zstd":         {zstded(plain)[:60], zstded(plain)},
		"truncated archive":      {gzipped(plain[:514]), gzipped(plain)},
		"no archive":             {gzipped([]byte(strings.Repeat("no archive ", 100))), gzipped(plain)},
		"broken gzip check":      {flip(gzipped(plain), -5), gzipped(plain)},
		"unknown compression":    {append([]byte{0xfd, '7', 'z', 'X', 'Z', 0}, plain...), plain},
		"gzip header and no end": {gzipped(plain)[:12], gzipped(plain)},
	} {
		if _, _, _, err := image.ReadLayer(bytes.NewReader(c.bad), limits); err == nil {
			t.Errorf("%s: accepted", name)
		}
		if _, _, _, err := image.ReadLayer(bytes.NewReader(c.twin), limits); err != nil {
			t.Errorf("the twin of %s: %v", name, err)
		}
	}
}

func flip(b []byte, at int) []byte {
	b[len(b)+at] ^= 1
	return b
}

func TestReadLayerHoldsLimits(t *testing.T) {
	t.Parallel()
	plain := archived(reg("f", strings.Repeat("\x00", 4<<20)))
	for name, c := range map[string]struct {
		rule   vet.Rule
		change func(*vet.Limits)
	}{
		"layer size": {vet.RuleImageSize, func(l *vet.Limits) { l.LayerBytes = 1 << 20 }},
		"image size": {vet.RuleImageSize, func(l *vet.Limits) { l.ImageBytes = 1 << 20 }},
		"expansion":  {vet.RuleExpansion, func(l *vet.Limits) { l.ExpansionFree = 1 << 20 }},
	} {
		for stored, store := range map[string]func([]byte) []byte{"gzip": gzipped, "zstd": zstded} {
			limits := vet.DefaultLimits()
			if _, _, _, err := image.ReadLayer(bytes.NewReader(store(plain)), limits); err != nil {
				t.Errorf("%s, %s: within the limits: %v", name, stored, err)
			}
			c.change(&limits)
			_, _, _, err := image.ReadLayer(bytes.NewReader(store(plain)), limits)
			var refusal *vet.Refusal
			if !errors.As(err, &refusal) || refusal.Rule != c.rule {
				t.Errorf("%s, %s: %v, want rule %s", name, stored, err, c.rule)
			}
		}
	}
}

func TestReadLayerBoundsDecoderMemory(t *testing.T) {
	t.Parallel()
	plain := archived(reg("f", strings.Repeat("text ", 1<<20)))
	limits := vet.DefaultLimits()
	limits.DecoderMemory = 64 << 10
	if _, _, _, err := image.ReadLayer(bytes.NewReader(zstded(plain)), limits); err == nil {
		t.Error("a window of megabytes was accepted with 64 KiB of memory")
	}
}

// FuzzReadLayer: whatever the bytes, reading ends, within the limits.
func FuzzReadLayer(f *testing.F) {
	plain := archived(dir("d"), reg("d/f", "text"))
	for _, b := range [][]byte{plain, gzipped(plain), zstded(plain), gzipped(plain)[:40], nil} {
		f.Add(b)
	}
	limits := vet.DefaultLimits()
	limits.LayerBytes, limits.DecoderMemory = 1<<20, 1<<20
	f.Fuzz(func(t *testing.T, b []byte) {
		got, digest, _, err := image.ReadLayer(bytes.NewReader(b), limits)
		if err == nil && (digest != digestOf(b) || int64(len(got)) > limits.LayerBytes+1<<16) {
			t.Fatalf("%d bytes with digest %s", len(got), digest)
		}
	})
}
