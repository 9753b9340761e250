package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/host"
	"lazaret.dev/lazaret/runtime/image"
)

// world is a workspace, a home and a Storage Root with the image prepared.
type world struct {
	bin, layout string
	repository  string // where `make` works
	dir         string
	workspace   string
	env         []string
	config      *config.Config
	ids         runtime.IDs
	lower       image.Lower
	goRoot      string
	workplace   *workplace // nil until it is used
	quick       bool
}

// profiles are what the measurements run; the first is what a user has.
var profiles = map[string]string{
	"shell": `["bash", "-l"]`,
	"raw":   `["sh", "-c", "stty raw -echo; echo READY; exec cat"]`,
	"line":  `["sh", "-c", "echo READY; exec cat"]`,
	"flood": `["sh", "-c", "stty -echo; echo READY; while read x; do cat flood; echo END$x; done"]`,
}

func newWorld(ctx context.Context, bin, layout string) (_ *world, err error) {
	w := &world{}
	for _, p := range []struct {
		to   *string
		from string
	}{{&w.bin, bin}, {&w.layout, layout}, {&w.repository, "."}} {
		if *p.to, err = filepath.Abs(p.from); err != nil {
			return nil, fmt.Errorf("find %q: %w", p.from, err)
		}
	}
	if w.dir, err = os.MkdirTemp("", "lazaret-bench-"); err != nil {
		return nil, fmt.Errorf("make a folder: %w", err)
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	// The namespaces of the peer are entered as another user when root runs this.
	if err := os.Chmod(w.dir, 0o755); err != nil {
		return nil, fmt.Errorf("open a folder to others: %w", err)
	}
	if err := w.furnish(); err != nil {
		return nil, err
	}
	return w, w.prepare(ctx)
}

// furnish makes the folders and the configuration.
func (w *world) furnish() error {
	w.workspace = filepath.Join(w.dir, "work")
	home, run := filepath.Join(w.dir, "home"), filepath.Join(w.dir, "run")
	for _, dir := range []string{w.workspace, filepath.Join(home, ".config", "lazaret"), run} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("make a folder: %w", err)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find the cache: %w", err)
	}
	data := filepath.Join(cache, "lazaret-bench")
	if err := os.MkdirAll(data, 0o700); err != nil {
		return fmt.Errorf("make the Storage Root: %w", err)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "[storage]\ndata_root = %q\n", data)
	for name, command := range profiles {
		fmt.Fprintf(&text, "[profiles.%s]\nimage = %q\ncommand = %s\n", name, "oci:"+w.layout, command)
	}
	fmt.Fprintf(&text, "[profiles.%s]\nimage = %q\ncommand = [\"sh\"]\nvolumes = [\n", toolsProfile, "oci:"+w.layout)
	if err := w.furnishTools(); err != nil {
		return err
	}
	for _, b := range w.tools() {
		fmt.Fprintf(&text, "{host = %q, container = %q, mode = \"ro\"},\n", b.Source, b.Target)
	}
	text.WriteString("]\n")
	if err := os.WriteFile(filepath.Join(home, ".config", "lazaret", "config.toml"), []byte(text.String()), 0o600); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	w.env, err = environment(home, run)
	return err
}

// environment is the caller's with another home; Go keeps its caches.
func environment(home, run string) ([]string, error) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOPATH", "GOMODCACHE").Output()
	if err != nil {
		return nil, fmt.Errorf("ask go for its folders: %w", err)
	}
	folders := strings.Fields(string(out))
	if len(folders) != 3 {
		return nil, errors.New("ask go for its folders: want three")
	}
	var env []string
	for _, v := range os.Environ() {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "HOME", "TERM", "TMUX", "TMUX_PANE", "MAKEFLAGS", "MAKELEVEL", "MFLAGS":
		default:
			if !strings.HasPrefix(name, "XDG_") {
				env = append(env, v)
			}
		}
	}
	return append(env, "HOME="+home, "XDG_RUNTIME_DIR="+run, "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8",
		"GOCACHE="+folders[0], "GOPATH="+folders[1], "GOMODCACHE="+folders[2]), nil
}

// prepare builds the layout if it is not there, and the lower from it.
func (w *world) prepare(ctx context.Context) error {
	if _, err := os.Stat(filepath.Join(w.layout, "index.json")); errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, "bench: building the image")
		build := exec.CommandContext(ctx, w.program("lazaret"), "image", "build", "--output", w.layout)
		build.Stdout, build.Stderr = os.Stderr, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build the image: %w", err)
		}
	}
	prepare := w.command(ctx, "image", "prepare")
	prepare.Stdout = os.Stderr
	if err := prepare.Run(); err != nil {
		return fmt.Errorf("prepare the image: %w", err)
	}
	var err error
	if w.config, err = config.Load(config.Options{Workspace: w.workspace, Environ: w.env, UID: os.Getuid()}); err != nil {
		return err
	}
	if w.ids, _, err = host.DetectIDs(w.config.Storage.DataRoot); err != nil {
		return err
	}
	lower, ok, err := image.Find(w.config.Storage.DataRoot, image.Source("oci:"+w.layout), w.ids)
	if err == nil && !ok {
		err = errors.New("the prepared image is not there")
	}
	w.lower = lower
	return err
}

func (w *world) close() {
	if w.workplace != nil {
		w.workplace.close(w)
	}
	os.RemoveAll(w.dir)
}

func (w *world) program(name string) string { return filepath.Join(w.bin, name) }

// command is lazaret in the workspace.
func (w *world) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, w.program("lazaret"), args...)
	cmd.Dir, cmd.Env, cmd.Stderr = w.workspace, w.env, os.Stderr
	return cmd
}

func (w *world) rounds(n int) int {
	if w.quick {
		return max(3, n/5)
	}
	return n
}

// domainRoot is the Domain Root of a profile in the workspace.
func (w *world) domainRoot(profile, workspace string) string {
	id, _ := domain.Identify(profile, workspace)
	return plan.DomainRoot(w.config.Storage.DataRoot, id)
}

// stopTime is far above any teardown.
const stopTime = 30 * time.Second

// awaitStopped returns once nobody serves the Domain any more.
func (w *world) awaitStopped(ctx context.Context, profile, workspace string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	lock, err := root.Lock(ctx, root.LockPath(w.domainRoot(profile, workspace)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("wait for the Domain's end: %w", err)
	}
	return lock.Close()
}
