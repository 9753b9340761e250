// Package sign holds the host's side of the signatures: the Authority of a
// generation, which the Host Coordinator keeps in memory, and the decisions a
// Session Anchor signs. The primitives are in package seal.
//
// All keys are ephemeral: they are drawn per generation and never written to a
// disk (S2 "Protocol cryptography refinement").
package sign
