package bundle

import (
	"strconv"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"lazaret.dev/lazaret/runtime"
)

func mounts(spec runtime.Spec, view View) []specs.Mount {
	list := system(spec.Limits.TmpBytes)
	list = append(list,
		bind(view.Bin, guestBin, readOnly),
		bind(view.Requests, GuestRequests, writable, "noexec"),
		bind(view.Results, GuestResults, readOnly, "noexec"),
		bind(view.Secrets, GuestSecrets, readOnly, "noexec"),
		bind(view.Files+"/resolv.conf", "/etc/resolv.conf", readOnly),
		bind(view.Files+"/hosts", "/etc/hosts", readOnly),
		bind(view.Files+"/hostname", "/etc/hostname", readOnly),
		bind(view.Workspace, spec.WorkspaceGuest, writable),
	)
	// The workspace's pointer to its repository holds the path of the host.
	for i, dir := range spec.Policy.GitDirs {
		list = append(list, bind(view.GitDirs[i], dir, writable))
	}
	for i, v := range spec.Volumes {
		access := writable
		if v.ReadOnly {
			access = readOnly
		}
		list = append(list, bind(view.Volumes[i], v.Guest, access))
	}
	return list
}

// system lists the file systems of any Linux, all of them the sentry's own.
func system(tmpBytes uint64) []specs.Mount {
	size := func(options ...string) []string {
		if tmpBytes > 0 {
			options = append(options, "size="+strconv.FormatUint(tmpBytes, 10))
		}
		return options
	}
	return []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "mode=755"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: size("nosuid", "nodev", "mode=1777")},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev", "ro"}},
		{Destination: "/sys/fs/cgroup", Type: "cgroup", Source: "cgroup", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/tmp", Type: "tmpfs", Source: "tmpfs", Options: size("nosuid", "nodev", "mode=1777")},
		{Destination: "/run", Type: "tmpfs", Source: "tmpfs", Options: size("nosuid", "nodev", "mode=755")},
	}
}

// access says whether the guest may write through a bind mount.
type access string

const (
	readOnly access = "ro"
	writable access = "rw"
)

// bind shows source inside. Set-user-id bits and device nodes of the host never
// count in the guest.
func bind(source, guest string, how access, more ...string) specs.Mount {
	return specs.Mount{Destination: guest, Type: "bind", Source: source,
		Options: append([]string{"rbind", string(how), "nosuid", "nodev"}, more...)}
}

func within(path, root string) bool {
	return path == root || strings.HasPrefix(path, strings.TrimSuffix(root, "/")+"/")
}
