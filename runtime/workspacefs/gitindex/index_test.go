package gitindex_test

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
)

// an entry is what the tests write of one; zero fields are usual.
type entry struct {
	path  string
	mode  uint32
	flags uint16 // besides the length
	drop  int    // version 4: what the path drops of the one before, instead of all
}

// build writes an index with SHA-1, in the versions 2 and 4.
func build(version uint32, extensions string, entries ...entry) []byte {
	out := binary.BigEndian.AppendUint32([]byte("DIRC"), version)
	out = binary.BigEndian.AppendUint32(out, uint32(len(entries)))
	before, full := 0, 0
	for _, e := range entries {
		start := len(out)
		out = append(out, make([]byte, 24)...)
		out = binary.BigEndian.AppendUint32(out, max(e.mode, 0o100644&^(e.mode*0o777777)))
		out = append(out, make([]byte, 12+sha1.Size)...)
		drop := before
		if e.drop > 0 {
			drop = e.drop
		}
		full = len(e.path)
		if version == 4 {
			full += before - drop
		}
		out = binary.BigEndian.AppendUint16(out, e.flags|uint16(min(full, 0xfff)))
		if version == 4 {
			out = appendDrop(out, drop)
		}
		out = append(out, e.path...)
		out = append(out, 0)
		for version != 4 && (len(out)-start)%8 != 0 {
			out = append(out, 0)
		}
		before = full
	}
	return seal(append(out, extensions...))
}

func appendDrop(out []byte, n int) []byte {
	if n >= 0x80 {
		out = append(out, byte(0x80|(n>>7-1)))
	}
	return append(out, byte(n&0x7f))
}

func seal(body []byte) []byte {
	sum := sha1.Sum(body)
	return append(slices.Clip(body), sum[:]...)
}

// tracked lists the paths, and fails if the index is refused.
func tracked(t *testing.T, data []byte) []string {
	t.Helper()
	set, err := gitindex.Tracked(data, gitindex.SHA1)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Collect(set.All())
}

func TestHarmless(t *testing.T) {
	t.Parallel()
	noHash := build(2, "", entry{path: "a"})
	copy(noHash[len(noHash)-sha1.Size:], make([]byte, sha1.Size))
	for what, row := range map[string]struct {
		data []byte
		want []string
	}{
		"empty":                {build(2, ""), nil},
		"one path":             {build(2, "", entry{path: "a"}), []string{"a"}},
		"no checksum":          {noHash, []string{"a"}},
		"order":                {build(2, "", entry{path: "a"}, entry{path: "b"}), []string{"a", "b"}},
		"conflict":             {build(2, "", entry{path: "a", flags: 0x1000}, entry{path: "a", flags: 0x3000}, entry{path: "b"}), []string{"a", "b"}},
		"sparse directory":     {build(2, "sdir\x00\x00\x00\x00", entry{path: "a/", mode: 0o40000}), []string{"a/"}},
		"optional extension":   {build(2, "XYZW\x00\x00\x00\x02ab", entry{path: "a"}), []string{"a"}},
		"compressed":           {build(4, "", entry{path: "dir/a"}, entry{path: "b", drop: 1}), []string{"dir/a", "dir/b"}},
		"the longest path":     {build(2, "", entry{path: strings.Repeat("a", gitindex.MaxPath)}), []string{strings.Repeat("a", gitindex.MaxPath)}},
		"dots within names":    {build(2, "", entry{path: "..a/.b/c..."}), []string{"..a/.b/c..."}},
		"compressed far apart": {build(4, "", entry{path: "a" + strings.Repeat("x", 200)}, entry{path: "b"}), []string{"a" + strings.Repeat("x", 200), "b"}},
	} {
		if got := tracked(t, row.data); !slices.Equal(got, row.want) {
			t.Errorf("%s: got %q, want %q", what, got, row.want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	flipped := build(2, "", entry{path: "a"})
	flipped[20] ^= 1
	many := build(2, "", entry{path: "a"})
	many = many[:len(many)-sha1.Size]
	binary.BigEndian.PutUint32(many[8:], 1<<32-1)
	padded := build(2, "", entry{path: "a"})
	padded = padded[:len(padded)-sha1.Size]
	padded[len(padded)-1] = 'x'
	for what, row := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":            {nil, gitindex.ErrCorrupt},
		"no magic":           {seal([]byte("CRID\x00\x00\x00\x02\x00\x00\x00\x00")), gitindex.ErrCorrupt},
		"version 1":          {build(1, ""), gitindex.ErrVersion},
		"version 5":          {build(5, ""), gitindex.ErrVersion},
		"checksum":           {flipped, gitindex.ErrCorrupt},
		"count":              {seal(many), gitindex.ErrCorrupt},
		"padding":            {seal(padded), gitindex.ErrCorrupt},
		"order":              {build(2, "", entry{path: "b"}, entry{path: "a"}), gitindex.ErrCorrupt},
		"twice":              {build(2, "", entry{path: "a"}, entry{path: "a"}), gitindex.ErrCorrupt},
		"stages":             {build(2, "", entry{path: "a", flags: 0x3000}, entry{path: "a", flags: 0x1000}), gitindex.ErrCorrupt},
		"empty path":         {build(2, "", entry{path: "", flags: 0x1000}), gitindex.ErrCorrupt},
		"rooted path":        {build(2, "", entry{path: "/a"}), gitindex.ErrCorrupt},
		"path upwards":       {build(2, "", entry{path: "a/../b"}), gitindex.ErrCorrupt},
		"dot":                {build(2, "", entry{path: "./b"}), gitindex.ErrCorrupt},
		"file with slash":    {build(2, "", entry{path: "a/"}), gitindex.ErrCorrupt},
		"dir without slash":  {build(2, "", entry{path: "a", mode: 0o40000}), gitindex.ErrCorrupt},
		"version 3 flags":    {build(2, "", entry{path: "a", flags: 0x4000}), gitindex.ErrCorrupt},
		"wrong length":       {build(2, "", entry{path: "ab", flags: 1}), gitindex.ErrCorrupt},
		"drops too much":     {build(4, "", entry{path: "a"}, entry{path: "b", drop: 2}), gitindex.ErrCorrupt},
		"long path":          {build(2, "", entry{path: strings.Repeat("a", gitindex.MaxPath+1)}), gitindex.ErrTooLarge},
		"required extension": {build(2, "xyzw\x00\x00\x00\x00"), gitindex.ErrRequired},
		"split":              {build(2, "link\x00\x00\x00\x00"), gitindex.ErrSplit},
		"extension size":     {build(2, "XYZW\xff\xff\xff\xff"), gitindex.ErrCorrupt},
		"extension cut":      {build(2, "XYZW"), gitindex.ErrCorrupt},
	} {
		if set, err := gitindex.Tracked(row.data, gitindex.SHA1); !errors.Is(err, row.want) || set != nil {
			t.Errorf("%s: %v, want %v", what, err, row.want)
		}
	}
	if _, err := gitindex.Tracked(build(2, ""), 16); !errors.Is(err, gitindex.ErrVersion) {
		t.Errorf("ids of 16 bytes: %v", err)
	}
}

// TestEveryCutIsRefused seals each beginning of an index as if it were whole.
func TestEveryCutIsRefused(t *testing.T) {
	t.Parallel()
	for _, version := range []uint32{2, 4} {
		whole := build(version, "TREE\x00\x00\x00\x01x", entry{path: "a/b"}, entry{path: "c/d"})
		body := whole[:len(whole)-sha1.Size]
		extension := len(body) - 9
		for end := range body {
			_, err := gitindex.Tracked(seal(bytes.Clone(body[:end])), gitindex.SHA1)
			if (err == nil) != (end == extension) {
				t.Errorf("version %d cut to %d of %d bytes: %v", version, end, len(body), err)
			}
		}
	}
}

func TestNilSet(t *testing.T) {
	t.Parallel()
	var s *gitindex.Set
	if s.Len() != 0 || s.Has("a") || s.Below("") || s.Below("a") || s.Sparse("a") {
		t.Error("the nil set holds something")
	}
}

// FuzzTracked seals any bytes as an index, so that the fuzzer gets past the
// checksum. What is accepted is in order, and the set knows its own paths.
func FuzzTracked(f *testing.F) {
	for _, version := range []uint32{2, 4} {
		data := build(version, "TREE\x00\x00\x00\x01x", entry{path: "a/b"}, entry{path: "c/d", flags: 0x1000}, entry{path: "e/", mode: 0o40000})
		f.Add(data[:len(data)-sha1.Size])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		set, err := gitindex.Tracked(seal(body), gitindex.SHA1)
		if err != nil {
			return
		}
		paths := slices.Collect(set.All())
		if !slices.IsSorted(paths) || len(paths) != set.Len() {
			t.Fatalf("not in order: %q", paths)
		}
		for _, path := range paths {
			if dir, sparse := strings.CutSuffix(path, "/"); set.Has(path) == sparse || sparse && !set.Sparse(dir) {
				t.Fatalf("the set is wrong about its own %q", path)
			}
		}
	})
}

func BenchmarkTracked(b *testing.B) {
	var entries []entry
	for n := range 50_000 {
		entries = append(entries, entry{path: fmt.Sprintf("some/package%03d/with/deep/folders/file%05d.go", n/100, n)})
	}
	for _, version := range []uint32{2, 4} {
		data := build(version, "", entries...)
		b.Run(fmt.Sprintf("version%d", version), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := gitindex.Tracked(data, gitindex.SHA1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
