package gvisor_test

import (
	"slices"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime/gvisor"
)

func TestEveryCommandCarriesTheSameFlags(t *testing.T) {
	t.Parallel()
	r := gvisor.Runsc{Path: "/bin/runsc", Root: "/state", Directfs: true}
	commands := map[string][]string{
		"run":  r.Run("/bundle", "/state/pid", "id"),
		"kill": r.Kill("id", "KILL"), "state": r.State("id"),
	}
	want := commands["state"][:slices.Index(commands["state"], "state")]
	for name, argv := range commands {
		if got := argv[:slices.Index(argv, name)]; !slices.Equal(got, want) {
			t.Errorf("%s: flags %q, want %q", name, got, want)
		}
		for _, arg := range argv {
			if strings.Contains(arg, "rootless") {
				t.Errorf("%s: %q", name, arg)
			}
		}
	}
	for _, flag := range []string{"--network=sandbox", "--ignore-cgroups=true", "--overlay2=none", "--host-uds=none", "--host-fifo=none", "--directfs=true"} {
		if !slices.Contains(want, flag) {
			t.Errorf("no %s in %q", flag, want)
		}
	}
}

func TestAssert(t *testing.T) {
	t.Parallel()
	good := []string{"runsc-sandbox", "--root=/state", "--overlay2=none", "--ignore-cgroups=true", "boot", "--bundle=/bundle", "--host-uds=none", "id"}
	if err := gvisor.Assert(good); err != nil {
		t.Errorf("refused a good one: %v", err)
	}
	for _, bad := range []string{"--host-uds=open", "--host-fifo=open", "--network=host", "--overlay2=all:memory", "--rootless",
		"--rootless=true", "-rootless", "--TESTONLY-unsafe-nonroot=true", "--allow-flag-override", "--net-raw=true", "--file-access-mounts=exclusive"} {
		if err := gvisor.Assert(append([]string{"runsc-sandbox", bad}, good[1:]...)); err == nil {
			t.Errorf("accepted %s", bad)
		}
	}
	if err := gvisor.Assert(append([]string{"runsc-sandbox", "--rootless=false"}, good[1:]...)); err != nil {
		t.Errorf("refused a flag that is off: %v", err)
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	r := gvisor.Runsc{Root: "/state"}
	for want, argv := range map[string][]string{
		"sentry": {"runsc-sandbox", "boot"}, "gofer": {"runsc-gofer", "gofer"},
		"run": r.Run("/bundle", "/pid", "id"), "": {"[systrap]"},
	} {
		if got := gvisor.Role(argv); got != want {
			t.Errorf("%q: role %q, want %q", argv, got, want)
		}
	}
	if got := gvisor.Role(nil); got != "" {
		t.Errorf("nothing has role %q", got)
	}
}

func TestProbeRefusesWhatIsNoRunsc(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/bin/true", "/no/such/runsc"} {
		if _, err := gvisor.Probe(t.Context(), path); fault.KindOf(err) != fault.Host || fault.FixOf(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
}
