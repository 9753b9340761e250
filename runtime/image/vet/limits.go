package vet

// PolicyVersion names this set of rules and limits. It is part of a prepared
// lower's key: raise it whenever an image could come out differently.
const PolicyVersion = 1

// Limits bound what one image may ask for.
type Limits struct {
	Layers          int   // layers of an image
	EntriesPerLayer int   // tar entries of one layer
	EntriesPerImage int   // tar entries of all layers together
	PathBytes       int   // a whole name
	ComponentBytes  int   // one component of a name
	Depth           int   // components of a name
	LinkBytes       int   // the target of a link
	XattrValueBytes int   // one extended attribute
	XattrsPerEntry  int   // extended attributes of one entry
	PaxBytes        int   // all extended records of one entry
	FileBytes       int64 // one file
	CompressedBytes int64 // one layer as stored
	LayerBytes      int64 // one layer uncompressed
	ImageBytes      int64 // all layers uncompressed
	ExpansionRatio  int64 // uncompressed to stored, once past ExpansionFree
	ExpansionFree   int64 // bytes of a layer before the ratio is looked at
	DecoderMemory   uint64
	TrailingZeros   int64 // zero padding after the end of an archive
	DocumentBytes   int64 // a manifest, an index or an image configuration
	Free            Room  // left on the file system
}

// Room is space on a file system.
type Room struct {
	Bytes, Inodes uint64
}

// DefaultLimits are generous for real images and small next to a disk.
func DefaultLimits() Limits {
	const ki, mi, gi = 1 << 10, 1 << 20, 1 << 30
	return Limits{
		Layers:          128,
		EntriesPerLayer: 500_000,
		EntriesPerImage: 1_000_000,
		PathBytes:       4095,
		ComponentBytes:  255,
		Depth:           256,
		LinkBytes:       4095,
		XattrValueBytes: 64 * ki,
		XattrsPerEntry:  64,
		PaxBytes:        mi,
		FileBytes:       8 * gi,
		CompressedBytes: 4 * gi,
		LayerBytes:      16 * gi,
		ImageBytes:      32 * gi,
		ExpansionRatio:  200,
		ExpansionFree:   64 * mi,
		DecoderMemory:   256 * mi,
		TrailingZeros:   mi,
		DocumentBytes:   4 * mi,
		Free:            Room{Bytes: 64 * mi, Inodes: 1024},
	}
}
