package host

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// need is how much room a place wants, in bytes.
type need struct {
	least, good uint64
	use         string
}

const mebibyte = 1 << 20

var (
	storageNeed = need{512 * mebibyte, 4096 * mebibyte, "images and what agents install"}
	runtimeNeed = need{4 * mebibyte, 32 * mebibyte, "sockets and the state of live sandboxes"}
)

func space(name, dir string, n need) Check {
	c := Check{Name: name, Status: OK}
	at := nearest(dir)
	var st unix.Statfs_t
	if err := unix.Statfs(at, &st); err != nil {
		return Check{name, Fail, fmt.Sprintf("%s: %s", at, words(err)), "check that the file system is mounted"}
	}
	free := st.Bavail * uint64(st.Bsize)
	c.Detail = fmt.Sprintf("%s has %d MiB free", dir, free/mebibyte)
	if st.Files > 0 && st.Ffree < 10000 && n.least >= storageNeed.least {
		c.Status, c.Detail, c.Fix = Warn, c.Detail+fmt.Sprintf(", but only %d inodes", st.Ffree), "remove files from its file system"
	}
	switch fix := fmt.Sprintf("make room on its file system, or set another place; it holds %s", n.use); {
	case free < n.least:
		c.Status, c.Fix = Fail, fix
		c.Detail += fmt.Sprintf(", at least %d are needed", n.least/mebibyte)
	case free < n.good:
		c.Status, c.Fix = Warn, fix
	}
	if err := unix.Access(at, unix.W_OK); err != nil {
		c.Status, c.Detail, c.Fix = Fail, fmt.Sprintf("%s cannot be written: %s", at, words(err)), fmt.Sprintf("make %s writable for you", at)
	}
	return c
}

// limiting are the controllers a delegated cgroup would limit a sandbox by.
var limiting = []string{"cpu", "memory", "pids"}

// cgroups looks for a delegated cgroup. Without one sandboxes still run.
func (m machine) cgroups() Check {
	c := Check{Name: "cgroup limits", Status: Warn,
		Fix: "to limit memory and processor time, start lazaret as: systemd-run --user --scope -p Delegate=yes lazaret"}
	b, err := readSmall(m.path("proc/self/cgroup"))
	if err != nil {
		c.Detail = words(err)
		return c
	}
	const without = "; process counts and open files are limited all the same, memory and processor time are not"
	var own string
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
			own = path
		}
	}
	dir := m.path(filepath.Join("sys/fs/cgroup", own))
	list, err := readSmall(filepath.Join(dir, "cgroup.controllers"))
	switch {
	case own == "" || errors.Is(err, fs.ErrNotExist):
		c.Detail = "no unified cgroup hierarchy here" + without
	case err != nil:
		c.Detail = words(err)
	case unix.Access(filepath.Join(dir, "cgroup.procs"), unix.W_OK) != nil:
		c.Detail = "no cgroup is delegated to you" + without
	default:
		var missing []string
		have := " " + strings.TrimSpace(string(list)) + " "
		for _, name := range limiting {
			if !strings.Contains(have, " "+name+" ") {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			c.Detail = "your cgroup lacks the controllers " + strings.Join(missing, ", ") + without
			break
		}
		c.Status, c.Detail, c.Fix = OK, "your cgroup "+own+" has "+strings.Join(limiting, ", "), ""
	}
	return c
}
