// Package config reads, merges, expands, checks and explains Lazaret's
// configuration: the user's file, the workspace's, and the one named on the
// command line (S1 §3).
//
// The way of a value, one file each: a file's bytes become a tree with line
// numbers (source), the tree is held against the table of keys (schema, check),
// an untrusted workspace file is held against the orders of its keys (narrow,
// trust), viper merges the layers (layers), and the result is expanded (expand)
// and given its types (build). What depends on the host's file system, above all
// which paths may be shown inside, is decided per profile at launch (confine).
//
// It promises that a Config it returns came from a strict reading: no unknown
// key, no converted type, every problem with file, line and hint. It writes two
// things only: records of trust, and the runtime directory it is asked for. It
// imports internal/domain, fault, safefs and agents, and never an
// image, a runtime or a terminal.
package config
