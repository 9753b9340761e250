// Package gitconfig reads the syntax of git configuration files, as git-config(1)
// describes it under "Syntax" and as git does it, without running git on a
// configuration that may name programs to run.
//
// It is pure: the caller reads the file. Includes are reported, never followed, and
// values are given as they are written: paths are not expanded, booleans and numbers
// not interpreted. It promises to refuse every file git refuses, and besides any with
// a NUL byte, for git cuts names and values off there.
//
// It never imports anything outside the standard library.
package gitconfig
