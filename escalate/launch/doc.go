// Package launch starts what was approved: an argument vector, a directory given
// by descriptor, the host's environment, no input and no terminal. There is no
// shell in it and no way to reach one that the vector does not name (S2 §3.7).
//
// It owns the process group it makes and both output pipes. It decides nothing:
// package policy bound what it is given.
package launch
