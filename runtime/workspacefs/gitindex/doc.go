// Package gitindex reads which paths git tracks from the bytes of an index file,
// as gitformat-index(5) describes it: versions 2, 3 and 4, with SHA-1 or SHA-256.
//
// It is pure: the caller reads the file. It promises to refuse what git would not
// have written (wrong order, unclean paths, a wrong checksum) instead of guessing,
// and memory and time in proportion to the bytes given, within MaxFile and MaxPaths.
//
// A split index is refused: its paths are in another file, and git leaves it off by
// default.
//
// It never imports anything outside the standard library.
package gitindex
