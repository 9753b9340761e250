// Package wire is what the Escalation Mailbox carries: the records both sides
// write, the names of the files they are in, and the limits of both. It is data
// and its strict encoding; it opens nothing.
//
//	requests/  (written inside)            results/  (written by the host)
//	  ID.request     one, asks               ID.progress      approved and running
//	  ID.N.ack       chunks up to N read     ID.N.chunk       output, N counts from 1
//	  ID.cancel      withdraws               ID.result        how it ended, once
//
// Every file is a sealed record (package seal): 64 bytes of signature, then the
// canonical CBOR payload. A file appears complete, by rename from ID.tmp, and its
// name only helps to find it: what counts is the signed payload, which names the
// request again.
//
// It imports seal, canon and the vocabulary; the client inside is built from it.
package wire
