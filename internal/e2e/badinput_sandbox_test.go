//go:build sandbox

package e2e_test

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
	"lazaret.dev/lazaret/internal/sandboxtest"
)

// refusal checks a refused command: its exit code, that its message names every one
// of the words, and that nothing was started or written.
func refusal(t *testing.T, h *e2e.Home, r e2e.Result, code int, words ...string) {
	t.Helper()
	if r.Code != code || r.Stdout != "" {
		t.Errorf("want status %d, got %v", code, r)
	}
	for _, w := range words {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("the message does not say %q: %v", w, r)
		}
	}
	h.AwaitStopped()
}

func TestConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	file := h.ConfigFile()
	for _, c := range []struct {
		text  string
		words []string
	}{
		{"[storage\ndata_root = 1", []string{file + ":1"}},
		{"[storage]\ndata_root = 7\n", []string{file + ":2", "storage.data_root"}},
		{"[storage]\ndata_rot = \"/x\"\n", []string{file + ":2", "data_rot", "data_root"}},
		{"[storage]\ndata_root = \"/tmp/../etc\"\n", []string{file + ":2", ".."}},
		{"[profiles.\"a/b\"]\ncommand = [\"x\"]\n", []string{file + ":1", "a/b"}},
		{"[profiles.domains]\ncommand = [\"x\"]\n", []string{file + ":1", "domains"}},
		{"[profiles.shell]\nvolumes = [{ host = \"/\", container = \"/host\", mode = \"rw\" }]\n", []string{file + ":2", "whole host"}},
		{"[profiles.shell]\nvolumes = [{ host = \"" + h.Dir + "/home\", container = \"/h\", mode = \"ro\" }]\n", []string{file + ":2", "home directory"}},
		{"[profiles.shell]\nimage = \"\"\n", []string{file + ":2", "image"}},
	} {
		h.WriteConfig(c.text)
		refusal(t, h, h.Run("true"), 120, c.words...)
	}
	h.Configure("")
	h.Write("lazaret.toml", "[profiles.shell]\nimage = \"oci:/elsewhere\"\n")
	refusal(t, h, h.Run("true"), 120, "lazaret.toml:2", "image", "trust")
	h.Write("lazaret.toml", "[profiles.shell]\nnetwork = false\n") // the twin: it may narrow
	if r := h.Run("true"); r.Code != 0 {
		t.Errorf("a workspace file that narrows: %v", r)
	}
}

func TestWrongCommandLines(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	refusal(t, h, h.Lazaret("run", "no-such-profile"), 120, "no-such-profile", "shell")
	refusal(t, h, h.Lazaret("run", "a/b"), 120, "a/b")
	refusal(t, h, h.Lazaret("run", "../shell"), 120, "../shell")
	refusal(t, h, h.Lazaret("run", "shell", "more"), 2, "--")
	refusal(t, h, h.Lazaret("run", "--no-such-flag"), 2, "no-such-flag")
	refusal(t, h, h.Lazaret("stauts"), 2, "status")
	refusal(t, h, h.Lazaret(), 2, "terminal", "lazaret run")
	refusal(t, h, h.Lazaret("--config", "/nowhere/x.toml", "run"), 120, "/nowhere/x.toml")
	refusal(t, h, h.Run("bad\xffbytes"), 2, "UTF-8")
}

// TestWorkspaceVanishes before the start, and under a running session.
func TestWorkspaceVanishes(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	cmd := h.Command()
	script := exec.CommandContext(t.Context(), "sh", "-c", "mkdir gone && cd gone && rmdir ../gone && exec "+h.Program+" run -- true")
	script.Dir, script.Env = cmd.Dir, cmd.Env
	refusal(t, h, h.Finish(script), 124, "fix:")
	c := h.Open("run", "--", "bash", "-c", "echo up; while read -r line; do eval \"$line\"; done")
	c.Shows("up")
	moved := h.Workspace + "-moved"
	if err := os.Rename(h.Workspace, moved); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(moved); err != nil {
		t.Fatal(err)
	}
	c.Type("ls /workspace; cd / && echo ali''ve\n")
	c.Shows("alive")
	if r := c.End(); r.Code != 0 {
		t.Errorf("%v", r)
	}
	h.AwaitStopped()
}

// TestHomeAsWorkspace would show the sandbox what it must never see.
func TestHomeAsWorkspace(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	for _, dir := range []string{h.Dir, filepath.Join(h.Dir, "home"), "/", filepath.Join(h.Dir, "home/.config")} {
		cmd := h.Command("run", "--", "true")
		cmd.Dir = dir
		r := h.Finish(cmd)
		if r.Code != 120 && r.Code != 124 || !strings.Contains(r.Stderr, "fix:") {
			t.Errorf("%s as the workspace: %v", dir, r)
		}
	}
}

// layout copies the test image's layout, for a test to damage.
func layout(t *testing.T, h *e2e.Home) string {
	t.Helper()
	dir := filepath.Join(h.Dir, "layout")
	if err := os.CopyFS(dir, os.DirFS(sandboxtest.Layout(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// blobs are the smallest and the largest of a layout: a record, and the layer.
func blobs(t *testing.T, layout string) (smallest, largest string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(layout, "blobs/sha256/*"))
	if err != nil || len(all) < 3 {
		t.Fatal(all, err)
	}
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(size(a), size(b)) })
	return all[0], all[len(all)-1]
}

// TestDamagedImages: nothing of an image that cannot be had whole is kept.
func TestDamagedImages(t *testing.T) {
	t.Parallel()
	h := e2e.NewPrivateHome(t)
	use := func(image string) e2e.Result {
		h.WriteConfig("[storage]\ndata_root = \"" + h.Data + "\"\n[profiles.shell]\nimage = \"" + image + "\"\ncommand = [\"bash\"]\n")
		return h.Run("true")
	}
	nothingKept := func(what string) {
		t.Helper()
		filepath.WalkDir(filepath.Join(h.Data, "lowers"), func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Base(filepath.Dir(path)) != ".locks" {
				t.Errorf("%s left %s", what, path)
				return filepath.SkipAll
			}
			return nil
		})
	}
	refusal(t, h, use("oci:"+h.Dir+"/nowhere"), 122, h.Dir+"/nowhere")
	refusal(t, h, use("docker-archive:"+h.ConfigFile()), 122, h.ConfigFile())
	refusal(t, h, use("127.0.0.1:9/none:latest"), 122, "127.0.0.1:9")
	damaged := layout(t, h)
	small, blob := blobs(t, damaged)
	flip(t, small, 10)
	refusal(t, h, use("oci:"+damaged), 122, "digest")
	nothingKept("a wrong digest")
	flip(t, small, 10)
	info, err := os.Stat(blob)
	if err != nil {
		t.Fatal(err)
	}
	flip(t, blob, info.Size()/2)
	refusal(t, h, use("oci:"+damaged), 122, "layer 1")
	nothingKept("a changed layer")
	flip(t, blob, info.Size()/2)
	if err := os.Truncate(blob, info.Size()-4096); err != nil {
		t.Fatal(err)
	}
	refusal(t, h, use("oci:"+damaged), 122)
	nothingKept("a truncated layer")
	if err := os.Remove(blob); err != nil {
		t.Fatal(err)
	}
	refusal(t, h, use("oci:"+damaged), 122, filepath.Base(blob)[:12])
	nothingKept("a missing layer")
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 1)
	if _, err := f.ReadAt(b, at); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 0x55
	if _, err := f.WriteAt(b, at); err != nil {
		t.Fatal(err)
	}
}

// staged runs lazaret with args behind a script, as somebody who may mount and set
// up namespaces of their own, and who is otherwise who runs the test.
func staged(t *testing.T, h *e2e.Home, script string, args ...string) e2e.Result {
	t.Helper()
	file := h.Write("../stage.sh", "set -e\n"+script+"\n")
	words := append(ownNetwork(t), "bash", file, h.Program)
	cmd := exec.CommandContext(t.Context(), "unshare", append(words, args...)...)
	cmd.Dir, cmd.Env = h.Workspace, append(h.Env, "DATA="+h.Data, "PLACE="+h.Dir)
	return h.Finish(cmd)
}

// TestDiskFullWhileUnpacking gives the Storage Root a file system that is too small
// from the start, and one that somebody else fills meanwhile.
func TestDiskFullWhileUnpacking(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		words  []string
	}{
		"before": {"mount -t tmpfs -o size=64m,mode=700 tmpfs $DATA", []string{"not enough free space", "MiB", "data_root"}},
		"meanwhile": {`mount -t tmpfs -o size=400m,mode=700 tmpfs $DATA
(until find $DATA -type d -name usr | grep -q usr; do sleep 0.02; done; dd if=/dev/zero of=$DATA/filled bs=1M) 2> /dev/null &
trap 'kill $! 2> /dev/null || true' EXIT`, []string{"no space left on device"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := e2e.NewPrivateHome(t)
			r := staged(t, h, "mkdir -p $DATA\n"+c.script+`
status=0; "$@" || status=$?
find $DATA/lowers -type f ! -path '*/.locks/*' | head -n 3
exit $status`, "run", "--", "true")
			refusal(t, h, r, 122, c.words...)
		})
	}
}

// A host without a device node: a /dev of the test's own that lacks it.
func TestMissingDevices(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	for device, check := range map[string]string{"fuse": "FUSE", "net/tun": "tap devices"} {
		script := `d=$PLACE/dev; mkdir -p $d; mount -t tmpfs tmpfs $d; mkdir $d/net $d/pts
for n in null zero full urandom random tty ptmx fuse net/tun; do test $n = ` + device + ` && continue; touch $d/$n; mount --bind /dev/$n $d/$n; done
mount --rbind /dev/pts $d/pts; mount --rbind $d /dev; exec "$@"`
		refusal(t, h, staged(t, h, script, "run", "--", "true"), 121, check, "/dev/"+device, "fix:")
		r := staged(t, h, script, "doctor", "--json")
		var report struct {
			Checks []struct{ Name, Status, Fix string }
		}
		if err := json.Unmarshal([]byte(r.Stdout), &report); err != nil || r.Code != 121 {
			t.Fatalf("doctor: %v: %v", err, r)
		}
		for _, c := range report.Checks {
			if c.Name == check && (c.Status != "fail" || !strings.Contains(c.Fix, "modprobe")) {
				t.Errorf("doctor: %+v", c)
			}
		}
	}
}

// A host that allows no user namespaces: the kernel's own limit, set in a namespace.
func TestNoUserNamespaces(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	words := []string{"--user", "--keep-caps", "--map-current-user", "--", "sh", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"`, "sh", h.Program}
	for _, args := range [][]string{{"run", "--", "true"}, {"doctor"}} {
		cmd := exec.CommandContext(t.Context(), "unshare", append(words, args...)...)
		cmd.Dir, cmd.Env = h.Workspace, h.Env
		r := h.Finish(cmd)
		if r.Code != 121 || !strings.Contains(r.Stdout+r.Stderr, "max_user_namespaces") {
			t.Errorf("%q: %v", args, r)
		}
		h.AwaitStopped()
	}
}

// A user without subordinate ids is told what that costs, when the image is prepared
// and by doctor.
func TestSingleIDNotice(t *testing.T) {
	t.Parallel()
	h := e2e.NewPrivateHome(t)
	first, again := h.Run("true"), h.Run("true")
	if first.Code != 0 || again.Code != 0 {
		t.Fatalf("%v\n%v", first, again)
	}
	_, _, several := subordinate(t, "/etc/subuid")
	single := os.Getuid() != 0 && !several
	const notice = "all files in the sandbox belong to its root"
	if strings.Contains(first.Stderr, notice) != single {
		t.Errorf("single-id host: %v, but: %v", single, first)
	}
	if strings.Contains(again.Stderr, notice) {
		t.Errorf("said again: %v", again)
	}
	if r := h.Lazaret("doctor"); strings.Contains(r.Stdout, notice) != single {
		t.Errorf("doctor: %v", r)
	}
}
