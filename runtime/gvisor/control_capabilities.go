package gvisor

import (
	"fmt"
	"slices"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// taskCapabilities is auth.TaskCapabilities of the sentry: bit n is capability n.
type taskCapabilities struct {
	PermittedCaps   uint64
	InheritableCaps uint64
	EffectiveCaps   uint64
	BoundingCaps    uint64
	AmbientCaps     uint64
}

// capabilityNames are in the order of their numbers (capabilities(7),
// linux/capability.h). CAP_NET_RAW, number 13, is nameless here: no guest gets it.
var capabilityNames = [...]string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID",
	"CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "", "CAP_IPC_LOCK",
	"CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE",
	"CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE",
	"CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL", "CAP_SETFCAP",
}

// capabilitiesOf encodes the sets of an OCI process; none at all is no capability.
func capabilitiesOf(c *specs.LinuxCapabilities) (t taskCapabilities, err error) {
	if c == nil {
		return t, nil
	}
	for _, set := range []struct {
		names []string
		bits  *uint64
	}{
		{c.Permitted, &t.PermittedCaps}, {c.Inheritable, &t.InheritableCaps}, {c.Effective, &t.EffectiveCaps},
		{c.Bounding, &t.BoundingCaps}, {c.Ambient, &t.AmbientCaps},
	} {
		for _, name := range set.names {
			n := slices.Index(capabilityNames[:], name)
			if n < 0 || name == "" {
				return taskCapabilities{}, fmt.Errorf("execute a process: no guest may have capability %q", name)
			}
			*set.bits |= 1 << n
		}
	}
	return t, nil
}
