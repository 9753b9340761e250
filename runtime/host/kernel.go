package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The first kernel with pidfs, by which Lazaret names processes.
const (
	kernelMajor = 6
	kernelMinor = 9
)

// pidfsMagic is the type statfs(2) gives a pidfd since Linux 6.9.
const pidfsMagic = 0x50494446

func (m machine) kernel(d distribution) Check {
	c := Check{Name: "kernel", Status: OK}
	b, err := readSmall(m.path("proc/sys/kernel/osrelease"))
	if err != nil {
		return Check{c.Name, Fail, "its version cannot be read: " + words(err), "mount /proc"}
	}
	release := strings.TrimSpace(string(b))
	c.Detail = "Linux " + release + " on " + goruntime.GOARCH
	major, minor, ok := kernelVersion(release)
	switch {
	case goruntime.GOARCH != "amd64":
		c.Status, c.Fix = Fail, "use an x86-64 machine; others are not supported yet"
	case !ok:
		c.Status, c.Fix = Warn, fmt.Sprintf("make sure it is at least %d.%d", kernelMajor, kernelMinor)
	case major < kernelMajor || major == kernelMajor && minor < kernelMinor:
		c.Status, c.Fix = Fail, d.kernelFix()
		c.Detail += fmt.Sprintf(", at least %d.%d is needed", kernelMajor, kernelMinor)
	}
	return c
}

func kernelVersion(release string) (major, minor int, ok bool) {
	first, rest, found := strings.Cut(release, ".")
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		rest = rest[:end]
	}
	major, err1 := strconv.Atoi(first)
	minor, err2 := strconv.Atoi(rest)
	return major, minor, found && err1 == nil && err2 == nil
}

func (m machine) pidfs(d distribution) Check {
	c := Check{Name: "process handles", Status: OK, Detail: "pidfds are of pidfs"}
	fd, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		return Check{c.Name, Fail, "pidfd_open fails: " + words(err), d.kernelFix()}
	}
	defer unix.Close(fd)
	var st unix.Statfs_t
	if err := unix.Fstatfs(fd, &st); err != nil || st.Type != pidfsMagic {
		return Check{c.Name, Fail, "pidfds are not of pidfs, so a process cannot be told from a later one of its number", d.kernelFix()}
	}
	return c
}

const namespacesName = "user namespaces"

// userNamespaceSettings reads what can forbid them to an ordinary user.
func (m machine) userNamespaceSettings(d distribution) Check {
	c := Check{Name: namespacesName, Status: OK, Detail: "nothing forbids them"}
	if m.setting("user/max_user_namespaces") == "0" {
		return Check{c.Name, Fail, "user.max_user_namespaces is 0", d.sysctl("user.max_user_namespaces = 15000")}
	}
	if m.uid == 0 {
		return c
	}
	if m.setting("kernel/unprivileged_userns_clone") == "0" {
		return Check{c.Name, Fail, "kernel.unprivileged_userns_clone is 0", d.sysctl("kernel.unprivileged_userns_clone = 1")}
	}
	if m.restricted() {
		if _, err := os.Stat(m.path("etc/apparmor.d/lazaret")); errors.Is(err, fs.ErrNotExist) {
			return Check{c.Name, Fail, "AppArmor allows them only to programs with a profile (kernel.apparmor_restrict_unprivileged_userns is 1)", d.appArmorFix(programs())}
		}
	}
	return c
}

// restricted says whether AppArmor withholds user namespaces from programs without
// a profile (Ubuntu 23.10 and later).
func (m machine) restricted() bool {
	return m.setting("kernel/apparmor_restrict_unprivileged_userns") == "1"
}

func (m machine) setting(name string) string {
	b, err := readSmall(m.path(filepath.Join("proc/sys", name)))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// programs is the AppArmor pattern for this program and its runtime.
func programs() string {
	dir := "/usr/local/bin"
	if self, err := os.Executable(); err == nil {
		if self, err = filepath.EvalSymlinks(self); err == nil {
			dir = filepath.Dir(self)
		}
	}
	return `"` + dir + `/{lazaret,runsc}"`
}
