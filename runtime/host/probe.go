package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/internal/userns"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/netpolicy"
)

// ProbeMode is the hidden mode ProbeMain implements.
const ProbeMode = "__host-probe"

const probeTime = 20 * time.Second

// probes are the operations a launch performs, each in a child that is root of a
// fresh user namespace with what flags name. They leave nothing behind.
var probes = map[string]struct {
	flags uintptr
	run   func(dir string) error
}{
	"namespaces": {unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS, probeNamespaces},
	"overlay":    {unix.CLONE_NEWNS, probeOverlay},
	"fuse":       {unix.CLONE_NEWNS, probeFuse},
	"tun":        {unix.CLONE_NEWNET, probeTun},
	"policy":     {unix.CLONE_NEWNET, probePolicy},
	"ids":        {0, probeIDs},
}

// ProbeMain is the hidden mode: args are a probe's name and its directory. What
// goes wrong it writes to standard output.
func ProbeMain(args []string) int {
	if len(args) != 2 {
		return 2
	}
	p, ok := probes[args[0]]
	if !ok {
		return 2
	}
	if err := userns.Enter(); err != nil {
		fmt.Println(err)
		return 1
	}
	if err := p.run(args[1]); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// probe performs one operation and returns what went wrong.
func probe(ctx context.Context, name, dir string, ids runtime.IDs) error {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer r.Close()
	p, err := userns.Start(proc.Spec{
		Path: proc.Self(), Args: []string{"lazaret", ProbeMode, name, dir}, Env: os.Environ(),
		Files: []*os.File{nil, w, w}, Cloneflags: probes[name].flags,
	}, ids)
	w.Close()
	if err != nil {
		return err
	}
	said := make(chan string, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(r, 4096)) // what was said before an error counts
		said <- strings.TrimSpace(string(b))
	}()
	exit, err := p.Wait(ctx)
	if err != nil {
		_ = p.Signal(unix.SIGKILL)
		<-p.Done()
		return err
	}
	if exit.Status() == 0 {
		return nil
	}
	if text := <-said; text != "" {
		return errors.New(text)
	}
	return fmt.Errorf("the probe ended with %v", exit)
}

func probeNamespaces(string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if os.Getpid() != 1 || os.Geteuid() != 0 {
		return fmt.Errorf("process %d with user %d is not root of its own namespaces", os.Getpid(), os.Geteuid())
	}
	return nil
}

// probeOverlay mounts as a State Anchor is mounted, on the Storage Root's own file
// system, and writes through it.
func probeOverlay(dir string) error {
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "lower", "file"), []byte("lower"), 0o644); err != nil {
		return err
	}
	merged := filepath.Join(dir, "merged")
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work,userxattr", dir)
	if err := unix.Mount("overlay", merged, "overlay", 0, options); err != nil {
		return fmt.Errorf("mount an overlay: %w", err)
	}
	err := os.WriteFile(filepath.Join(merged, "file"), []byte("upper"), 0o644)
	if err == nil {
		err = os.Rename(filepath.Join(merged, "file"), filepath.Join(merged, "renamed")) // leaves a whiteout
	}
	return errors.Join(err, unix.Unmount(merged, unix.MNT_DETACH))
}

func probeFuse(dir string) error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", f.Fd())
	if err := unix.Mount("lazaret", dir, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mount a FUSE file system: %w", err)
	}
	return unix.Unmount(dir, unix.MNT_DETACH)
}

func probeTun(string) error {
	tap, err := makeTap()
	if err != nil {
		return err
	}
	return unix.Close(tap)
}

// makeTap makes the tap device slirp4netns would make. It lasts as long as its
// descriptor.
func makeTap() (int, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("open /dev/net/tun: %w", err)
	}
	request, err := unix.NewIfreq(netpolicy.Tap)
	if err != nil {
		return -1, errors.Join(err, unix.Close(fd))
	}
	request.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return -1, errors.Join(fmt.Errorf("make a tap device: %w", err), unix.Close(fd))
	}
	return fd, nil
}

// probePolicy installs both layers of a network policy beside a tap device.
func probePolicy(string) error {
	tap, err := makeTap()
	if err != nil {
		return err
	}
	defer unix.Close(tap)
	policy, _ := netpolicy.Derive(netpolicy.Input{Enabled: true, DefaultDeny: netpolicy.DefaultDeny()})
	return errors.Join(netpolicy.PrepareNamespace(), netpolicy.InstallDenyRoutes(policy), netpolicy.InstallEgress(policy))
}

// probeIDs becomes the last id of the range, and so shows that all are mapped.
func probeIDs(string) error {
	if err := syscall.Setresgid(idCount-1, idCount-1, idCount-1); err != nil {
		return fmt.Errorf("become group %d: %w", idCount-1, err)
	}
	if err := syscall.Setresuid(idCount-1, idCount-1, idCount-1); err != nil {
		return fmt.Errorf("become user %d: %w", idCount-1, err)
	}
	return nil
}
