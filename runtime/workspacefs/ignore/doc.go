// Package ignore answers what git's ignore rules say about a path, as
// gitignore(5) has them and as git does them where the manual is silent.
//
// It owns the patterns and their order of precedence. It is pure: callers read
// the files (.gitignore, info/exclude, the file named by core.excludesFile) and
// hand over the bytes. A caller must not follow a symbolic link named .gitignore,
// for git does not.
//
// It promises answers equal to git's for every byte sequence in pattern and path,
// and time in proportion to (bytes of the patterns consulted) x (bytes of the
// path), whoever wrote the patterns.
//
// Out of scope: core.ignorecase (names are compared byte by byte, as git does by
// default on Linux), tracked files (git never ignores those; see package
// gitindex), and the borders of nested repositories.
//
// It never imports anything outside the standard library.
package ignore
