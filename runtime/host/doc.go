// Package host knows what Lazaret needs of the machine it runs on: how guest ids map
// to host ids here, and whether every operation a launch depends on works.
//
// Its checks perform the operation they speak of (make a namespace, mount an
// overlay, open a tap) in a child that leaves nothing behind, rather than infer it
// from versions; settings are read only to say what to change. Needed is the cheap
// part of them, for every launch, with the same words.
//
// It imports internal/{canon,fault,proc,userns}, runtime, runtime/gvisor and
// runtime/netpolicy.
package host
