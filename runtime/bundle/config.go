package bundle

import (
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/guest/control"
)

// capabilities is what guest root keeps: enough for package managers and for
// changing users, nothing that reaches mounts, network or other sandboxes.
var capabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL",
	"CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_SYS_CHROOT",
	"CAP_AUDIT_WRITE", "CAP_SETFCAP", "CAP_NET_BIND_SERVICE",
}

// Config returns the OCI configuration of one generation.
func Config(spec runtime.Spec, view View) *specs.Spec {
	limits := control.Init{OpenFiles: spec.Limits.OpenFiles}
	process := Process(spec, limits.Argv(), nil, "/", false)
	linux := &specs.Linux{
		Namespaces: namespaces(spec.IDs.Mode, view.NetNS),
		// Without this netstack would give the guest ::1 and a link-local address
		// that no policy of ours speaks about.
		Sysctl: map[string]string{"net.ipv6.conf.all.disable_ipv6": "1"},
	}
	if spec.IDs.Mode != runtime.ModeSingle {
		linux.UIDMappings = mappings(spec.IDs.UIDs.Count)
		linux.GIDMappings = mappings(spec.IDs.GIDs.Count)
	}
	return &specs.Spec{
		Version:  specs.Version,
		Hostname: spec.Hostname,
		Root:     &specs.Root{Path: view.Root},
		Process:  process,
		Mounts:   mounts(spec, view),
		Linux:    linux,
	}
}

// Process returns one process of the sandbox, as guest root: the session wrapper
// changes the user itself. env is added to the sandbox's; later names win.
func Process(spec runtime.Spec, argv, env []string, dir string, terminal bool) *specs.Process {
	return &specs.Process{
		Terminal:        terminal,
		User:            specs.User{UID: 0, GID: 0},
		Args:            argv,
		Env:             withGitSettings(mergeEnv(append(defaultEnv(spec), spec.Env...), env)),
		Cwd:             dir,
		NoNewPrivileges: true,
		Capabilities: &specs.LinuxCapabilities{
			Bounding:  capabilities,
			Effective: capabilities,
			Permitted: capabilities,
		},
	}
}

func defaultEnv(spec runtime.Spec) []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + spec.User.Home,
	}
}

// mergeEnv returns base with extra, each name once and the last value winning, in
// order of first appearance.
func mergeEnv(base, extra []string) []string {
	place := map[string]int{}
	var merged []string
	for _, v := range append(append([]string(nil), base...), extra...) {
		name, _, _ := strings.Cut(v, "=")
		if i, ok := place[name]; ok {
			merged[i] = v
			continue
		}
		place[name] = len(merged)
		merged = append(merged, v)
	}
	return merged
}

func namespaces(mode runtime.Mode, netNS string) []specs.LinuxNamespace {
	list := []specs.LinuxNamespace{
		{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace},
		{Type: specs.MountNamespace}, {Type: specs.NetworkNamespace, Path: netNS},
	}
	// A single id cannot be mapped again to someone weaker, so on such a host the
	// sandbox's host processes stay in the Supervisor's user namespace (SR-12).
	if mode != runtime.ModeSingle {
		list = append(list, specs.LinuxNamespace{Type: specs.UserNamespace})
	}
	return list
}

// mappings maps every id to itself, in two extents: the kernel wants each extent
// inside one extent of the parent, whose first holds guest root alone.
func mappings(count uint32) []specs.LinuxIDMapping {
	const last = 65536
	return []specs.LinuxIDMapping{
		{ContainerID: 0, HostID: 0, Size: 1},
		{ContainerID: 1, HostID: 1, Size: min(count, last) - 1},
	}
}
