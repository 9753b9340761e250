package vet

import (
	"archive/tar"
	"strings"
)

const (
	paxXattr   = "SCHILY.xattr."
	capability = "security.capability"
)

// attributes replaces the extended attributes by the allowed ones. What is not
// allowed is dropped and is no reason to refuse: base images carry labels of the
// machine they were built on.
func (v *Vetter) attributes(hdr *tar.Header) *Refusal {
	kept := map[string]string{}
	count := 0
	for record, value := range hdr.PAXRecords {
		name, is := strings.CutPrefix(record, paxXattr)
		if !is {
			continue
		}
		if count++; count > v.limits.XattrsPerEntry {
			return refuse(RuleXattrCount, hdr.Name, "more than %d extended attributes", v.limits.XattrsPerEntry)
		}
		if len(value) > v.limits.XattrValueBytes {
			return refuse(RuleXattrSize, hdr.Name, "attribute %.200q of %d bytes exceeds the limit of %d", name, len(value), v.limits.XattrValueBytes)
		}
		if xattrAllowed(name) {
			kept[name] = value
		}
	}
	hdr.PAXRecords = nil
	hdr.Xattrs = kept //nolint:staticcheck // the extractor reads this field
	return nil
}

// xattrAllowed is the allow-list: user attributes save those that overlayfs and
// rootless tools give a meaning, and file capabilities.
func xattrAllowed(name string) bool {
	if name == capability {
		return true
	}
	return strings.HasPrefix(name, "user.") && len(name) > len("user.") && len(name) <= 255 &&
		!strings.HasPrefix(name, "user.overlay.") &&
		name != "user.rootlesscontainers" &&
		strings.IndexByte(name, 0) < 0
}
