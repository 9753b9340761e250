package route

import (
	"slices"
	"testing"
)

// FuzzUnpack holds that what is taken is packed and unpacked the same again.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(nil))
	f.Add(pack([]string{"a", "a/b", "a/c", "b"}))
	f.Add([]byte("noise"))
	f.Fuzz(func(t *testing.T, data []byte) {
		paths, err := unpack(data)
		if err != nil {
			return
		}
		again, err := unpack(pack(paths))
		if err != nil || !slices.Equal(paths, again) || !slices.IsSorted(paths) {
			t.Errorf("%q became %q, %v", paths, again, err)
		}
	})
}

func TestPackedPathsAreInOrder(t *testing.T) {
	t.Parallel()
	for _, paths := range [][]string{{"b", "a"}, {"a", "a"}} {
		if got, err := unpack(pack(paths)); err == nil {
			t.Errorf("took %q", got)
		}
	}
}
