package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// device is a device node every user must be able to open.
type device struct {
	name   string // of its check
	path   string
	kernel string // name udev knows it by
	module string
	use    string
}

var (
	fuseDevice = device{"FUSE", "/dev/fuse", "fuse", "fuse", "the workspace is served through it"}
	tunDevice  = device{"tap devices", "/dev/net/tun", "tun", "tun", "slirp4netns connects sandboxes through it"}
)

// device opens the node. The drivers themselves check who may do what with it.
func (m machine) device(d distribution, dev device) Check {
	c := Check{Name: dev.name, Status: OK, Detail: dev.path + " can be opened"}
	fd, err := unix.Open(m.path(dev.path), unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err == nil {
		unix.Close(fd)
		return c
	}
	c.Status = Fail
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		c.Detail = fmt.Sprintf("%s is not there; %s", dev.path, dev.use)
		c.Fix = d.sudo + "modprobe " + dev.module + " && echo " + dev.module + " | " + d.sudo + "tee /etc/modules-load.d/lazaret-" + dev.module + ".conf"
	case errors.Is(err, fs.ErrPermission):
		c.Detail = fmt.Sprintf("you may not open %s; %s", dev.path, dev.use)
		if info, err := os.Stat(m.path(dev.path)); err == nil && info.Mode().Perm()&0o006 == 0 {
			c.Detail = fmt.Sprintf("%s has mode %04o, where distributions ship it with 0666; %s", dev.path, info.Mode().Perm(), dev.use)
		}
		c.Fix = d.deviceFix(dev)
	default:
		c.Detail = fmt.Sprintf("open %s: %s; %s", dev.path, words(err), dev.use)
		c.Fix = d.deviceFix(dev)
	}
	return c
}

func (m machine) fuse(ctx context.Context, d distribution, namespaces Check) Check {
	if c := m.device(d, fuseDevice); c.Status == Fail {
		return c
	}
	return m.probed(ctx, namespaces, fuseDevice.name, "fuse", m.probePlace(os.TempDir()), d.sudo+"modprobe fuse")
}

func (m machine) tun(ctx context.Context, d distribution, namespaces Check) Check {
	if c := m.device(d, tunDevice); c.Status == Fail {
		return c
	}
	return m.probed(ctx, namespaces, tunDevice.name, "tun", "", d.sudo+"modprobe tun")
}
