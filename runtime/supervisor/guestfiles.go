package supervisor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/bundle"
)

// resolver is slirp4netns's forwarder to the host's resolvers.
const resolver = "10.0.2.3"

// writeGuestFiles writes what is mounted over /etc and the secrets. All of it is in
// the room's memory.
func writeGuestFiles(spec runtime.Spec) error {
	resolv := "# The network is off for this sandbox.\n"
	if spec.Network.Enabled {
		resolv = "nameserver " + resolver + "\n"
	}
	hosts := "127.0.0.1\tlocalhost\n"
	if spec.Hostname != "" && spec.Hostname != "localhost" {
		hosts += "127.0.1.1\t" + spec.Hostname + "\n"
	}
	for name, content := range map[string]string{
		"resolv.conf": resolv, "hosts": hosts, "hostname": spec.Hostname + "\n",
		// Stands in for the workspace's own settings, which are the host's business.
		bundle.Settings: "",
	} {
		if err := writeFile(filepath.Join(roomFiles, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, s := range spec.Secrets {
		if path.Dir(s.Path) != bundle.GuestSecrets || s.Link != "" {
			return fmt.Errorf("secret %q is not a file directly under %s", s.Path, bundle.GuestSecrets)
		}
		if err := writeFile(filepath.Join(roomSecrets, path.Base(s.Path)), s.Data, fs.FileMode(s.Mode)&0o777); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", name, err)
	}
	return nil
}

// look describes the room to the bundle: what of the workspace is to be protected,
// and which volumes are files.
func look(spec runtime.Spec) (bundle.View, []bool, error) {
	view := bundle.View{
		Root: roomMerged, Bin: roomBin, Files: roomFiles, Secrets: roomSecrets,
		Requests: roomMailbox + "/requests", Results: roomMailbox + "/results",
		Workspace: roomWorkspace, NetNS: networkNamespace,
	}
	workspace, err := os.OpenRoot(roomWorkspace)
	if err != nil {
		return view, nil, fmt.Errorf("open the workspace: %w", err)
	}
	defer workspace.Close()
	view.Git = lookAtGit(workspace)
	if info, err := workspace.Lstat(bundle.Settings); err == nil {
		view.Settings = info.Mode().IsRegular()
	}
	var isFile []bool
	for i, v := range spec.Volumes {
		info, err := os.Lstat(roomVolume(i))
		if err != nil {
			return view, nil, fmt.Errorf("look at volume %q: %w", v.Host, err)
		}
		isFile = append(isFile, !info.IsDir())
		view.Volumes = append(view.Volumes, roomVolume(i))
		inside, ok := strings.CutPrefix(v.Guest, spec.WorkspaceGuest+"/")
		if !ok {
			continue
		}
		// The runtime would make a missing mount point in the host's own tree.
		if _, err := workspace.Lstat(inside); err != nil {
			return view, nil, &fault.Error{Kind: fault.Config,
				Message: fmt.Sprintf("volume %q: %q does not exist in the workspace", v.Guest, inside),
				Fix:     fmt.Sprintf("create %q in the workspace, or mount the volume outside %s", inside, spec.WorkspaceGuest)}
		}
	}
	return view, isFile, nil
}

func lookAtGit(workspace *os.Root) bundle.Git {
	is := func(name string, want func(fs.FileMode) bool) bool {
		info, err := workspace.Lstat(name)
		return err == nil && want(info.Mode())
	}
	return bundle.Git{
		Dir:    is(".git", fs.FileMode.IsDir),
		File:   is(".git", fs.FileMode.IsRegular),
		Config: is(".git/config", fs.FileMode.IsRegular),
		Hooks:  is(".git/hooks", fs.FileMode.IsDir),
	}
}

func writeBundle(spec runtime.Spec, view bundle.View) error {
	config, err := json.Marshal(bundle.Config(spec, view))
	if err != nil {
		return fmt.Errorf("encode the sandbox's configuration: %w", err)
	}
	return writeFile(filepath.Join(roomBundle, "config.json"), config, 0o600)
}
