package route

import "crypto/sha256"

// Reserved begins the names under which the host writes what it accepts from Domain
// storage, until it is whole. No sandbox sees or makes one: it could change a file
// between the developer's look and its final name.
const Reserved = ".lazaret-accept-"

// RemovedDigest is a Pin's Written for a rule file that the sandbox removed.
func RemovedDigest(path string) [sha256.Size]byte { return mark(path, nil) }
