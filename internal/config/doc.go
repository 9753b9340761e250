// Package config reads, merges, expands, checks and explains Lazaret's
// configuration: the user's file, the workspace's, and the one named on the
// command line (S1 §3). It opens configuration files and nothing else, and
// imports no other part of Lazaret than internal/domain and internal/fault.
package config
