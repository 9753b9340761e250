// Package image turns an image into a prepared lower: a root directory that every
// Domain generation uses read-only beneath its State Anchors.
//
// It owns the sources (the built-in recipe, an OCI layout, a docker-archive, a
// registry), the blob cache, the vetting and unpacking of layers, and everything
// below lowers, blobs and builds of the Storage Root. It promises that
// nothing is published but a tree whose every blob had the digest it was named by
// and whose every entry was accepted by package vet; that unpacking happens in a
// worker process confined to the new root directory, in a user namespace; and
// that a failure, a cancelled context or a kill leaves no part of a tree where a
// lower could be looked for.
//
// On disk:
//
//	<Storage Root>/lowers/<key>/rootfs     the tree, owned as the guest sees it
//	                     /<key>/record     what it is and came from (record.go)
//	                     /.staging-*/      a tree being unpacked, locked by its maker
//	                     /.index/<name>    source and id map → key (index.go)
//	                     /.locks/<name>    one preparer per source at a time
//	              blobs/sha256/<hex>       compressed layers from registries
//	              builds/<suite>/          the built-in image as an OCI layout
//
// It never imports the coordinator, a view, or runsc.
package image
