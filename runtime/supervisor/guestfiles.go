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

// look describes the room to the bundle, and says which volumes are files.
func look(spec runtime.Spec) (bundle.View, []bool, error) {
	view := bundle.View{
		Root: roomMerged, Bin: roomBin, Files: roomFiles, Secrets: roomSecrets,
		Requests: roomMailbox + "/requests", Results: roomMailbox + "/results",
		Workspace: roomWorkspace, NetNS: networkNamespace,
	}
	for i := range spec.Policy.GitDirs {
		view.GitDirs = append(view.GitDirs, roomGitDir(i))
	}
	var isFile []bool
	for i, v := range spec.Volumes {
		info, err := os.Lstat(roomVolume(i))
		if err != nil {
			return view, nil, fmt.Errorf("look at volume %q: %w", v.Host, err)
		}
		isFile = append(isFile, !info.IsDir())
		view.Volumes = append(view.Volumes, roomVolume(i))
	}
	return view, isFile, nil
}

// assertMountPoints refuses volumes whose place in the workspace does not exist there:
// the runtime would make it in the host's own tree.
func assertMountPoints(spec runtime.Spec) error {
	for _, v := range spec.Volumes {
		inside, ok := strings.CutPrefix(v.Guest, spec.WorkspaceGuest+"/")
		if !ok {
			continue
		}
		workspace, err := os.OpenRoot(roomWorkspace)
		if err != nil {
			return fmt.Errorf("open the workspace: %w", err)
		}
		_, err = workspace.Lstat(inside)
		workspace.Close()
		if err != nil {
			return &fault.Error{Kind: fault.Config,
				Message: fmt.Sprintf("volume %q: %q does not exist in the workspace", v.Guest, inside),
				Fix:     fmt.Sprintf("create %q in the workspace, or mount the volume outside %s", inside, spec.WorkspaceGuest)}
		}
	}
	return nil
}

func writeBundle(spec runtime.Spec, view bundle.View) error {
	config, err := json.Marshal(bundle.Config(spec, view))
	if err != nil {
		return fmt.Errorf("encode the sandbox's configuration: %w", err)
	}
	return writeFile(filepath.Join(roomBundle, "config.json"), config, 0o600)
}
