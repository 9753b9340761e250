package supervisor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime"
)

// tapDevice is the interface slirp4netns makes in RS's network namespace.
const tapDevice = "tap0"

// installPolicy is replaced below when the policy package is linked.
var installPolicy = func(runtime.Network, string) error { return nil }

// network waits for the tap and installs the policy. No sandbox process exists
// before it is in force.
func (s *supervisor) network() error {
	if err := disableIPv6(); err != nil {
		return err
	}
	if err := loopbackUp(); err != nil {
		return err
	}
	if !s.spec.Network.Enabled {
		return nil
	}
	m, files, err := s.channel.receive()
	closeAll(files)
	if err != nil {
		return err
	}
	if m.Kind != kindNetworkUp {
		return fmt.Errorf("got message %d while waiting for the network", m.Kind)
	}
	return installPolicy(s.spec.Network, tapDevice)
}

// disableIPv6 keeps addresses no policy speaks about out of the sandbox: netstack
// copies what it finds in this namespace.
func disableIPv6() error {
	for _, which := range []string{"all", "default"} {
		err := os.WriteFile("/proc/sys/net/ipv6/conf/"+which+"/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without IPv6
			return fmt.Errorf("turn IPv6 off: %w", err)
		}
	}
	return nil
}

func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request); err != nil {
		return fmt.Errorf("bring the loopback interface up: %w", err)
	}
	return nil
}
