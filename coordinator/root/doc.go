// Package root is the Domain Root on disk: one directory per Domain below the
// Storage Root, whose identity is verified before it is used (SR-11), with the
// Domain's locks and the record of where its coordinator can be reached.
//
//	<data_root>/domains/<domain id>/      0700
//	    identity        full digest, profile, workspace; written once, compared ever after
//	    start.lock      held by the client that starts a coordinator, until it can be reached
//	    domain.lock     held by the coordinator for its life
//	    endpoint        socket of the live coordinator; only its owner writes or removes it
//	    installed       digest of the install text that is in the State Anchor
//	    looked          up to where the developer has seen the workspace journal
//	    accept.lock     held while something is moved out of Domain storage
//	    anchors/<path>/ upper and work directory of each State Anchor, '/' as %2F
//	    gen/<id>/       a live generation's own files
//	    workspace/      Domain storage of the workspace; owned by the sandbox's ids
//	    log/            coordinator.log, install.log
//
// The locks lie here and not in the runtime directory, because that one differs
// between logins and vanishes with them. Locks are flock(2) on files that are
// never removed.
package root
