// Package handover is what passes between the client that starts a Host
// Coordinator and the coordinator it starts: which descriptor is what, and the
// reports that come back until the coordinator can be reached.
//
//	client                                   coordinator (__hc)
//	  holds start.lock, domain.lock
//	  descriptors 3 plan, 4 reports, 5 domain.lock ──►
//	                                   ◄── Report{Step} … one per step begun
//	                                   ◄── Report{Ready} or Report{Failure}, then end
//	  lets start.lock go                        keeps domain.lock for its life
//
// The lock travels as the locked descriptor, so there is no moment without it.
package handover
