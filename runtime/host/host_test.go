package host_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/host"
)

// TestMain lets the test binary be the child the probes run in.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case host.ProbeMode:
			os.Exit(host.ProbeMain(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

const (
	bookworm = "ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"
	noble    = "ID=ubuntu\nID_LIKE=debian\nVERSION_ID=\"24.04\"\n"
	fedora   = "ID=fedora\nVERSION_ID=42\n"
)

// files makes a fixture root.
func files(t *testing.T, content map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range content {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// expect compares a check with its status and with parts of its detail and fix; a
// failure without a fix is never right.
func expect(t *testing.T, c host.Check, status host.Status, parts ...string) {
	t.Helper()
	if c.Status != status {
		t.Errorf("%+v: want %s", c, status)
	}
	for _, part := range parts {
		if !strings.Contains(c.Detail+"\n"+c.Fix, part) {
			t.Errorf("%+v does not say %q", c, part)
		}
	}
	if status == host.Fail && c.Fix == "" {
		t.Errorf("%+v: no fix", c)
	}
}

func TestKernel(t *testing.T) {
	t.Parallel()
	check := func(release, distribution string) host.Check {
		root := files(t, map[string]string{"proc/sys/kernel/osrelease": release + "\n", "etc/os-release": distribution})
		return host.NewMachine(root, 1000, "dev").Kernel()
	}
	expect(t, check("6.9.0", bookworm), host.OK, "6.9.0")
	expect(t, check("6.18.44-fc", fedora), host.OK)
	expect(t, check("7.0-rc1", fedora), host.OK)
	expect(t, check("6.1.0-25-amd64", bookworm), host.Fail, "at least 6.9", "-t bookworm-backports linux-image-amd64", "sudo ")
	expect(t, check("6.8.0-45-generic", noble), host.Fail, "linux-generic-hwe-24.04")
	expect(t, check("6.8.9", fedora), host.Fail, "package manager")
	expect(t, check("5.99", ""), host.Fail)
	expect(t, check("strange", fedora), host.Warn)
}

func TestUserNamespaceSettings(t *testing.T) {
	t.Parallel()
	const (
		restrict = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
		clone    = "proc/sys/kernel/unprivileged_userns_clone"
		most     = "proc/sys/user/max_user_namespaces"
	)
	for name, c := range map[string]struct {
		files  map[string]string
		uid    int
		status host.Status
		parts  []string
	}{
		"nothing set":               {nil, 1000, host.OK, nil},
		"all allowed":               {map[string]string{restrict: "0\n", clone: "1\n", most: "15000\n"}, 1000, host.OK, nil},
		"none at all":               {map[string]string{most: "0\n"}, 1000, host.Fail, []string{"user.max_user_namespaces = 15000", "sysctl --system"}},
		"none at all, for root":     {map[string]string{most: "0\n"}, 0, host.Fail, []string{"| tee -a"}},
		"not for ordinary users":    {map[string]string{clone: "0\n"}, 1000, host.Fail, []string{"kernel.unprivileged_userns_clone = 1"}},
		"but for root":              {map[string]string{clone: "0\n", restrict: "1\n"}, 0, host.OK, nil},
		"AppArmor":                  {map[string]string{restrict: "1\n"}, 1000, host.Fail, []string{"/etc/apparmor.d/lazaret", "userns,", "{lazaret,runsc}", "apparmor_parser -r"}},
		"AppArmor with the profile": {map[string]string{restrict: "1\n", "etc/apparmor.d/lazaret": "profile"}, 1000, host.OK, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, host.NewMachine(files(t, c.files), c.uid, "dev").Settings(), c.status, c.parts...)
		})
	}
}

func TestDevice(t *testing.T) {
	t.Parallel()
	open := files(t, map[string]string{"dev/fuse": ""})
	expect(t, host.NewMachine(open, 1000, "dev").Fuse(), host.OK)
	expect(t, host.NewMachine(t.TempDir(), 1000, "dev").Fuse(), host.Fail, "modprobe fuse", "modules-load.d")
	if os.Getuid() == 0 {
		return // nothing is closed to root
	}
	if err := os.Chmod(filepath.Join(open, "dev/fuse"), 0); err != nil {
		t.Fatal(err)
	}
	expect(t, host.NewMachine(open, 1000, "dev").Fuse(), host.Fail, "has mode 0000", "0666", `KERNEL=="fuse"`, "chmod 0666 /dev/fuse")
}

func TestPrograms(t *testing.T) {
	t.Parallel()
	for distribution, want := range map[string]string{bookworm: "sudo apt-get install slirp4netns", noble: "sudo apt-get install slirp4netns", fedora: "package slirp4netns"} {
		root := files(t, map[string]string{"etc/os-release": distribution})
		expect(t, host.NewMachine(root, 1000, "dev").Slirp(), host.Fail, want)
		expect(t, host.NewMachine(root, 1000, "dev", "slirp4netns").Slirp(), host.OK)
	}
}

func TestCgroups(t *testing.T) {
	t.Parallel()
	base := map[string]string{"proc/self/cgroup": "1:cpu:/x\n0::/user/leaf\n"}
	expect(t, host.NewMachine(files(t, base), 1000, "dev").Cgroups(), host.Warn, "no unified cgroup", "Delegate=yes")
	base["sys/fs/cgroup/user/leaf/cgroup.controllers"] = "cpuset cpu memory pids\n"
	expect(t, host.NewMachine(files(t, base), 1000, "dev").Cgroups(), host.Warn, "no cgroup is delegated")
	base["sys/fs/cgroup/user/leaf/cgroup.procs"] = ""
	expect(t, host.NewMachine(files(t, base), 1000, "dev").Cgroups(), host.OK, "/user/leaf")
	base["sys/fs/cgroup/user/leaf/cgroup.controllers"] = "hugetlb cpu\n"
	expect(t, host.NewMachine(files(t, base), 1000, "dev").Cgroups(), host.Warn, "memory, pids")
}

func TestSpace(t *testing.T) {
	t.Parallel()
	absent := filepath.Join(t.TempDir(), "not", "there", "yet")
	expect(t, host.Space(absent, 1, 2), host.OK)
	expect(t, host.Space(absent, 1, math.MaxUint64), host.Warn, "make room")
	expect(t, host.Space(absent, math.MaxUint64-1, math.MaxUint64), host.Fail, "make room")
}

func TestDetectSubordinateIDs(t *testing.T) {
	t.Parallel()
	helpers := []string{"newuidmap", "newgidmap"}
	const entry = "dev:100000:65536\n"
	for name, c := range map[string]struct {
		subuid, subgid string
		programs       []string
		notice         string // "" wants subordinate ids
	}{
		"by name":         {entry, entry, helpers, ""},
		"by id":           {"1000:100000:65536\n", entry, helpers, ""},
		"second is wider": {"dev:5000:10\n" + entry, entry, helpers, ""},
		"noise around":    {"# x\n\nother:1:1\nbroken\ndev:a:b\ndev:0:65536\ndev:4294967295:65536\n" + entry, entry, helpers, ""},
		"none":            {"", "", helpers, "no subordinate ids in /etc/subuid"},
		"of another":      {"devil:100000:65536\n", entry, helpers, "no subordinate ids in /etc/subuid"},
		"no groups":       {entry, "", helpers, "/etc/subgid"},
		"too narrow":      {"dev:100000:65535\n", entry, helpers, "fewer than 65536"},
		"no helper":       {entry, entry, helpers[:1], "newgidmap is not installed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := files(t, map[string]string{"etc/subuid": c.subuid, "etc/subgid": c.subgid})
			ids, notice, err := host.NewMachine(root, 1000, "dev", c.programs...).DetectIDs("/nonexistent")
			if err != nil {
				t.Fatal(err)
			}
			want := runtime.IDs{Mode: runtime.ModeSingle}
			if c.notice == "" {
				r := runtime.IDRange{Host: 100000, Count: 65536}
				want = runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: r, GIDs: r}
			}
			if ids != want || (notice == "") != (c.notice == "") || !strings.Contains(notice, c.notice) {
				t.Errorf("%+v, %q", ids, notice)
			}
		})
	}
	absent, _, err := host.NewMachine(t.TempDir(), 1000, "dev", helpers...).DetectIDs("")
	if absent.Mode != runtime.ModeSingle || err != nil {
		t.Errorf("without the files: %+v, %v", absent, err)
	}
}

func TestSubordinateFixNamesAFreeRange(t *testing.T) {
	t.Parallel()
	root := files(t, map[string]string{"etc/subuid": "a:100000:65536\n", "etc/subgid": "b:200000:1\n", "etc/os-release": bookworm})
	want := "sudo usermod --add-subuids 231072-296607 --add-subgids 231072-296607 dev"
	if got := host.NewMachine(root, 1000, "dev").SubordinateFix(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// rootMachine is a host of root's. The record it leaves must belong to root, so a
// test run by another sees it written, and then refused.
func rootMachine(t *testing.T, content map[string]string) host.Machine {
	t.Helper()
	return host.NewMachine(files(t, content), 0, "root")
}

func TestRootIDsAreChosenOnce(t *testing.T) {
	t.Parallel()
	storage := filepath.Join(t.TempDir(), "storage")
	used := map[string]string{"etc/subuid": "a:1879048192:65536\n", "etc/subgid": "b:1879113730:10\n", "etc/passwd": "x:x:1879179264:0::/:/bin/sh\n"}
	ids, notice, err := rootMachine(t, used).DetectIDs(storage)
	if err != nil || notice != "" {
		t.Fatal(err, notice)
	}
	if want := (runtime.IDRange{Host: 0x70000000 + 3*65536, Count: 65536}); ids.Mode != runtime.ModeRoot || ids.UIDs != want || ids.GIDs != want {
		t.Errorf("chosen %+v", ids)
	}
	info, err := os.Stat(filepath.Join(storage, "root-ids"))
	if err != nil || info.Mode() != 0o600 {
		t.Fatalf("the record: %v, %v", info, err)
	}
	if os.Getuid() != 0 {
		if _, _, err := rootMachine(t, used).DetectIDs(storage); fault.KindOf(err) != fault.Host {
			t.Errorf("a record of user %d is root's word: %v", os.Getuid(), err)
		}
		return
	}
	again, _, err := rootMachine(t, nil).DetectIDs(storage)
	if err != nil || again != ids {
		t.Errorf("then %+v, %v", again, err)
	}
	_, _, err = rootMachine(t, map[string]string{"etc/subuid": "late:1879240000:65536\n"}).DetectIDs(storage)
	if fault.KindOf(err) != fault.Host || !strings.Contains(fault.FixOf(err), "late") {
		t.Errorf("a range given to another since: %v, fix %q", err, fault.FixOf(err))
	}
}

func TestRootIDsRecordIsNotBelieved(t *testing.T) {
	t.Parallel()
	spoil := map[string]func(path string) error{
		"open to others": func(p string) error { return os.Chmod(p, 0o644) },
		"a link":         func(p string) error { return errors.Join(os.Rename(p, p+"2"), os.Symlink(p+"2", p)) },
		"a directory":    func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o700)) },
		"cut short":      func(p string) error { return os.Truncate(p, 5) },
		"extended": func(p string) error {
			b, err := os.ReadFile(p)
			return errors.Join(err, os.WriteFile(p, append(b, 0), 0o600))
		},
	}
	for name, do := range spoil {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storage := t.TempDir()
			if _, _, err := rootMachine(t, nil).DetectIDs(storage); err != nil {
				t.Fatal(err)
			}
			if err := do(filepath.Join(storage, "root-ids")); err != nil {
				t.Fatal(err)
			}
			if ids, _, err := rootMachine(t, nil).DetectIDs(storage); fault.KindOf(err) != fault.Host {
				t.Errorf("believed: %+v, %v", ids, err)
			}
		})
	}
}

func TestNeededSaysWhatDoctorSays(t *testing.T) {
	t.Parallel()
	good := map[string]string{"proc/sys/kernel/osrelease": "6.18.0", "dev/fuse": "", "dev/net/tun": "", "etc/os-release": bookworm, "runsc": ""}
	root := files(t, good)
	o := host.Options{Runsc: filepath.Join(root, "runsc")}
	ready := host.NewMachine(root, 1000, "dev", "slirp4netns")
	if err := ready.Needed(o); err != nil {
		t.Errorf("a ready host: %v", err)
	}
	without := host.NewMachine(root, 1000, "dev")
	err := without.Needed(o)
	if c := without.Slirp(); fault.KindOf(err) != fault.Host || err.Error() != c.Name+": "+c.Detail || fault.FixOf(err) != c.Fix {
		t.Errorf("without slirp4netns: %v, fix %q", err, fault.FixOf(err))
	}
	for _, missing := range []string{"dev/fuse", "dev/net/tun"} {
		if err := os.Rename(filepath.Join(root, missing), filepath.Join(root, "away")); err != nil {
			t.Fatal(err)
		}
		if err := ready.Needed(o); fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: %v", missing, err)
		}
		if err := os.Rename(filepath.Join(root, "away"), filepath.Join(root, missing)); err != nil {
			t.Fatal(err)
		}
	}
	o.Runsc += "-absent"
	if err := ready.Needed(o); fault.KindOf(err) != fault.Host {
		t.Errorf("without runsc: %v", err)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	if err := host.Failed([]host.Check{{Name: "a", Status: host.OK}, {Name: "b", Status: host.Warn}}); err != nil {
		t.Error(err)
	}
	err := host.Failed([]host.Check{{Name: "a", Status: host.Fail}, {Name: "b", Status: host.Fail}})
	if fault.KindOf(err) != fault.Host || !strings.Contains(err.Error(), "a, b") {
		t.Error(err)
	}
}
