package supervisor

import (
	"fmt"

	"lazaret.dev/lazaret/runtime/netpolicy"
)

// network installs the policy and reads it back. No sandbox process exists before
// it is in force, and what needs no tap is in force before there is a way out.
func (s *supervisor) network() error {
	if err := netpolicy.PrepareNamespace(); err != nil {
		return err
	}
	if !s.spec.Network.Enabled {
		return nil
	}
	if err := netpolicy.InstallDenyRoutes(s.spec.Network); err != nil {
		return err
	}
	m, files, err := s.channel.receive()
	closeAll(files)
	if err != nil {
		return err
	}
	if m.Kind != kindNetworkUp {
		return fmt.Errorf("got message %d while waiting for the network", m.Kind)
	}
	if err := netpolicy.InstallAllowRoutes(s.spec.Network); err != nil {
		return err
	}
	if err := netpolicy.InstallEgress(s.spec.Network); err != nil {
		return err
	}
	seen, err := netpolicy.Observe()
	if err != nil {
		return err
	}
	return netpolicy.Verify(s.spec.Network, seen)
}
