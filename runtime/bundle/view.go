package bundle

import "lazaret.dev/lazaret/runtime"

// View is what the Supervisor has prepared, by the paths its own mount namespace
// knows it under.
type View struct {
	Root      string   // the merged root file system
	Bin       string   // directory with the guest binary alone
	Files     string   // directory with resolv.conf, hosts and hostname
	Secrets   string   // directory shown as /run/lazaret/credential
	Requests  string   // the Escalation Mailbox, written by the guest
	Results   string   // and read by it
	Workspace string   // the Agent Workspace, with what is mounted in it
	GitDirs   []string // by index of Spec.Policy.GitDirs
	Volumes   []string // by index of Spec.Volumes
	NetNS     string   // path of the verified network namespace
}

// Guest paths of what Lazaret shows inside.
const (
	guestLazaret  = "/run/lazaret"
	GuestRequests = guestLazaret + "/requests"
	GuestResults  = guestLazaret + "/results"
	GuestSecrets  = guestLazaret + "/credential"
	guestBin      = guestLazaret + "/bin"
)

// MountPoints lists the guest directories and files the configuration mounts on,
// which must exist in the root file system: where the runtime has to make one it
// makes it in the developer's State Anchor. Directories end in a slash.
func MountPoints(spec runtime.Spec, volumeIsFile []bool) []string {
	points := []string{"/proc/", "/sys/", "/dev/", "/tmp/", "/run/",
		"/etc/resolv.conf", "/etc/hosts", "/etc/hostname", spec.WorkspaceGuest + "/"}
	for _, dir := range spec.Policy.GitDirs {
		points = append(points, dir+"/")
	}
	for i, v := range spec.Volumes {
		if within(v.Guest, spec.WorkspaceGuest) {
			continue // it lies in the host's own tree
		}
		if i < len(volumeIsFile) && volumeIsFile[i] {
			points = append(points, v.Guest)
		} else {
			points = append(points, v.Guest+"/")
		}
	}
	return points
}
