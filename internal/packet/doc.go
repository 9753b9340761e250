// Package packet carries records and descriptors between two processes of Lazaret
// over a Unix packet socket: one record is one packet, and descriptors travel with it
// as SCM_RIGHTS.
//
// It promises that a packet that was cut short, in its bytes or in its descriptors, is
// an error and leaks none, and that a record is strictly canonical. Bulk goes by Seal.
//
// It imports only internal/canon.
package packet
