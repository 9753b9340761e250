package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime/anchor"
)

// inside is the peer inside its user namespace.
type inside struct {
	dir   string
	binds []bind
	runs  int
	up    *exec.Cmd
	work  *exec.Cmd
	shell *lineShell
}

// peerMain is the hidden mode; args are its folder, the root file system,
// runsc, whether it is given trees of both, and the folders of the host it shows, as
// JSON.
func peerMain(args []string) int {
	i, err := enterPeer(args)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench peer: %v\n", err)
		return 1
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		took, err := i.do(lines.Text())
		if err != nil {
			fmt.Printf("!%s\n", strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		fmt.Println(took.Microseconds())
	}
	i.end()
	return 0
}

func enterPeer(args []string) (*inside, error) {
	if len(args) != 5 {
		return nil, errors.New("want a folder, a root file system, a program, whether trees of both are given, and binds")
	}
	if err := userns.Enter(); err != nil {
		return nil, err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("make mounts private: %w", err)
	}
	i := &inside{dir: args[0]}
	if err := json.Unmarshal([]byte(args[4]), &i.binds); err != nil {
		return nil, fmt.Errorf("read the binds: %w", err)
	}
	for n, target := range []string{i.path("root"), i.path("runsc")} {
		tree := os.NewFile(uintptr(3+n), target)
		if args[3] != treesGiven {
			var err error
			if tree, err = cloneTree(args[1+n]); err != nil {
				return nil, err
			}
		}
		if err := anchor.Attach(tree, target); err != nil {
			return nil, err
		}
	}
	return i, i.writeBundles()
}

func (i *inside) path(name string) string { return filepath.Join(i.dir, name) }

// bind is a folder of the host that the peer shows.
type bind struct {
	Source, Target string
	ReadOnly       bool
}

// writeBundles writes the least OCI configuration that runs a command, once for
// each of the sandboxes. Only the one for work is shown folders of the host.
func (i *inside) writeBundles() error {
	for name, command := range map[string][]string{
		"echo": {"/bin/echo", "x"}, "stay": {"/bin/sh", "-c", "echo x; exec sleep infinity"}, "work": {"/bin/sh", "-c", shellProgram},
	} {
		data, err := json.Marshal(i.bundle(name, command))
		if err != nil {
			return fmt.Errorf("write the peer's bundle: %w", err)
		}
		if err := os.MkdirAll(i.path(name), 0o755); err != nil {
			return fmt.Errorf("write the peer's bundle: %w", err)
		}
		if err := os.WriteFile(filepath.Join(i.path(name), "config.json"), data, 0o644); err != nil {
			return fmt.Errorf("write the peer's bundle: %w", err)
		}
	}
	return nil
}

func (i *inside) bundle(name string, command []string) map[string]any {
	cwd := "/"
	mounts := []map[string]any{
		{"destination": "/proc", "type": "proc", "source": "proc"},
		{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"},
		{"destination": "/tmp", "type": "tmpfs", "source": "tmpfs"},
	}
	if name == "work" {
		cwd = workDir
		for _, b := range i.binds {
			options := []string{"rbind", "rw"}
			if b.ReadOnly {
				options[1] = "ro"
			}
			mounts = append(mounts, map[string]any{"destination": b.Target, "type": "bind", "source": b.Source, "options": options})
		}
	}
	return map[string]any{
		"ociVersion": "1.0.2",
		"root":       map[string]any{"path": i.path("root"), "readonly": true},
		"process": map[string]any{
			"args": command, "cwd": cwd, "user": map[string]any{"uid": 0, "gid": 0},
			"env": append([]string{"PATH=/usr/bin:/bin", "HOME=/tmp"}, gitSettings...), "noNewPrivileges": true,
		},
		"mounts": mounts,
		"linux":  map[string]any{"namespaces": []map[string]any{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}}},
	}
}

// workDir is where the peer shows the work tree: the image has the folder, and nothing
// may be added to it.
const workDir = "/mnt"

// gitSettings are what Lazaret tells git inside, as far as it makes a difference here.
var gitSettings = []string{
	"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=core.checkStat", "GIT_CONFIG_VALUE_0=minimal",
	"GIT_CONFIG_KEY_1=core.trustctime", "GIT_CONFIG_VALUE_1=false",
	"GIT_CONFIG_KEY_2=core.createObject", "GIT_CONFIG_VALUE_2=rename",
}

func (i *inside) runsc(args ...string) *exec.Cmd {
	flags := []string{"--root=" + i.path("state"), "--network=none", "--overlay2=none", "--ignore-cgroups"}
	cmd := exec.Command(i.path("runsc"), append(flags, args...)...)
	cmd.Env = []string{"PATH=/usr/bin:/bin"}
	cmd.Stderr = os.Stderr
	return cmd
}

func (i *inside) do(order string) (time.Duration, error) {
	switch order {
	case orderRun:
		i.runs++
		return firstByte(i.runsc("run", "--bundle="+i.path("echo"), "run"+strconv.Itoa(i.runs)))
	case orderUp:
		cmd := i.runsc("run", "--bundle="+i.path("stay"), "stay")
		took, _, err := startToFirstByte(cmd)
		i.up = cmd
		return took, err
	case orderExec:
		return firstByte(i.runsc("exec", "stay", "/bin/echo", "x"))
	case orderWork:
		i.runs++
		begun := time.Now()
		i.work = i.runsc("run", "--bundle="+i.path("work"), "work"+strconv.Itoa(i.runs))
		var err error
		i.shell, err = startShell(i.work)
		return time.Since(begun), err
	case orderRest:
		return 0, i.rest()
	}
	if script, ok := strings.CutPrefix(order, orderDo); ok && i.shell != nil {
		return i.shell.do(script)
	}
	return 0, fmt.Errorf("there is no order %q", order)
}

// rest ends the sandbox for work, if it is there.
func (i *inside) rest() error {
	if i.shell == nil {
		return nil
	}
	i.shell.in.Close()
	i.shell = nil
	return i.work.Wait()
}

func (i *inside) end() {
	_ = i.rest()
	if i.up != nil && i.up.Process != nil {
		_ = i.up.Process.Kill() // the sentry and the gofer die with it
		_ = i.up.Wait()
	}
}

// startToFirstByte starts cmd and returns how long its first byte took.
func startToFirstByte(cmd *exec.Cmd) (time.Duration, io.Reader, error) {
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, fmt.Errorf("make a pipe: %w", err)
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	n, err := out.Read(make([]byte, 1))
	took := time.Since(begun)
	if n != 1 {
		return 0, nil, errors.Join(fmt.Errorf("%s wrote nothing: %w", cmd.Path, err), cmd.Wait())
	}
	return took, out, nil
}

// firstByte is startToFirstByte for a command that then ends well.
func firstByte(cmd *exec.Cmd) (time.Duration, error) {
	took, out, err := startToFirstByte(cmd)
	if err != nil {
		return 0, err
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		return 0, fmt.Errorf("read what %s writes: %w", cmd.Path, err)
	}
	if err := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	return took, nil
}
