package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/canon"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
)

// idCount is how many host ids a sandbox with several users takes.
const idCount = 65536

// Ids root may choose a range from: above what login.defs(5) hands out by default
// and what systemd gives containers, below what it keeps for foreign images.
const (
	rootRangeFirst = 0x70000000
	rootRangeEnd   = 0x7ffe0000
)

// idsFile is where root's choice is recorded in the Storage Root: what lies there
// belongs to those ids, so the choice is made once.
const idsFile = "root-ids"

// idsRecord is the content of idsFile.
type idsRecord struct {
	Version uint8       `cbor:"1,keyasint"`
	IDs     runtime.IDs `cbor:"2,keyasint"`
}

// DetectIDs says how guest ids map to host ids for the current user. notice is a
// sentence for the developer when the answer costs something. Root's range is
// chosen on the first call and recorded in the Storage Root.
func DetectIDs(storageRoot string) (ids runtime.IDs, notice string, err error) {
	return system().detectIDs(storageRoot)
}

// machine is the host as the checks see it; tests put another root and user in.
type machine struct {
	root string // "/" but in tests
	uid  int
	name string // of the user, may be empty
	// look finds a program as proc.LookPath does.
	look func(name string) (string, error)
}

func system() machine {
	m := machine{root: "/", uid: os.Getuid(), look: lookPath}
	if me, err := user.LookupId(strconv.Itoa(m.uid)); err == nil {
		m.name = me.Username
	}
	return m
}

// lookPath also finds what Debian keeps out of an ordinary user's PATH.
func lookPath(name string) (string, error) {
	path, err := proc.LookPath(name)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if info, statErr := os.Stat(filepath.Join(dir, name)); statErr == nil && info.Mode().Perm()&0o111 != 0 {
			return filepath.Join(dir, name), nil
		}
	}
	return "", err
}

func (m machine) path(name string) string { return filepath.Join(m.root, name) }

func (m machine) detectIDs(storageRoot string) (runtime.IDs, string, error) {
	if m.uid == 0 {
		ids, err := m.rootIDs(storageRoot)
		return ids, "", err
	}
	single := runtime.IDs{Mode: runtime.ModeSingle}
	uids, reason := m.subordinate("etc/subuid")
	if reason != "" {
		return single, reason, nil
	}
	gids, reason := m.subordinate("etc/subgid")
	if reason != "" {
		return single, reason, nil
	}
	for _, helper := range []string{"newuidmap", "newgidmap"} {
		if _, err := m.look(helper); err != nil {
			return single, helper + " is not installed, so all files in the sandbox belong to its root", nil
		}
	}
	return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: uids, GIDs: gids}, "", nil
}

// subordinate returns the user's first wide enough range of a file in the form of
// subuid(5), or why there is none.
func (m machine) subordinate(file string) (r runtime.IDRange, reason string) {
	ranges, err := m.subordinates(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Sprintf("/%s cannot be read, so all files in the sandbox belong to its root", file)
	}
	narrow := false
	for _, entry := range ranges {
		if entry.owner != strconv.Itoa(m.uid) && (m.name == "" || entry.owner != m.name) {
			continue
		}
		if entry.ids.Count >= idCount {
			return runtime.IDRange{Host: entry.ids.Host, Count: idCount}, ""
		}
		narrow = true
	}
	if narrow {
		return r, fmt.Sprintf("your range in /%s has fewer than %d ids, so all files in the sandbox belong to its root", file, idCount)
	}
	return r, fmt.Sprintf("you have no subordinate ids in /%s, so all files in the sandbox belong to its root", file)
}

type subordinateEntry struct {
	owner string
	ids   runtime.IDRange
}

// subordinates reads all entries; lines it cannot read it leaves out, as the
// helpers do.
func (m machine) subordinates(file string) ([]subordinateEntry, error) {
	b, err := readSmall(m.path(file))
	if err != nil {
		return nil, err
	}
	var entries []subordinateEntry
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		fields := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(fields) != 3 || fields[0] == "" {
			continue
		}
		host, err1 := strconv.ParseUint(fields[1], 10, 32)
		count, err2 := strconv.ParseUint(fields[2], 10, 32)
		if err1 == nil && err2 == nil && host > 0 && count > 0 && host+count <= 1<<32 {
			entries = append(entries, subordinateEntry{fields[0], runtime.IDRange{Host: uint32(host), Count: uint32(count)}})
		}
	}
	return entries, nil
}

// readSmall reads a system file of a plausible size.
func readSmall(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// rootIDs returns the recorded range, or chooses and records one.
func (m machine) rootIDs(storageRoot string) (runtime.IDs, error) {
	path := filepath.Join(storageRoot, idsFile)
	taken, err := m.taken()
	if err != nil {
		return runtime.IDs{}, err
	}
	ids, err := readIDs(path, m.uid)
	if errors.Is(err, fs.ErrNotExist) {
		if ids, err = chooseIDs(taken); err != nil {
			return runtime.IDs{}, err
		}
		if err = recordIDs(path, ids); errors.Is(err, fs.ErrExist) {
			ids, err = readIDs(path, m.uid) // another start was quicker
		}
	}
	if err != nil {
		return runtime.IDs{}, &fault.Error{Kind: fault.Host, Message: fmt.Sprintf("cannot use the id range of %s", storageRoot), Err: err,
			Fix: fmt.Sprintf("if nothing in %s is worth keeping, remove it; else restore %s from a backup", storageRoot, path)}
	}
	if other, ok := overlap(taken, ids.UIDs); ok {
		return runtime.IDs{}, &fault.Error{Kind: fault.Host,
			Message: fmt.Sprintf("the ids %d to %d that sandboxes of root run as now also belong to %s", ids.UIDs.Host, ids.UIDs.Host+ids.UIDs.Count-1, other),
			Fix:     "give " + other + " another range in /etc/subuid and /etc/subgid"}
	}
	return ids, nil
}

// taken lists every id of the host that has an owner: subordinate ranges, users
// and groups.
func (m machine) taken() ([]subordinateEntry, error) {
	var all []subordinateEntry
	for _, file := range []string{"etc/subuid", "etc/subgid"} {
		entries, err := m.subordinates(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read /%s: %w", file, err)
		}
		all = append(all, entries...)
	}
	for _, file := range []string{"etc/passwd", "etc/group"} {
		b, err := readSmall(m.path(file))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read /%s: %w", file, err)
		}
		for line := range strings.Lines(string(b)) {
			fields := strings.Split(line, ":")
			if len(fields) < 3 {
				continue
			}
			if id, err := strconv.ParseUint(strings.TrimSpace(fields[2]), 10, 32); err == nil {
				all = append(all, subordinateEntry{fields[0], runtime.IDRange{Host: uint32(id), Count: 1}})
			}
		}
	}
	return all, nil
}

func overlap(taken []subordinateEntry, r runtime.IDRange) (owner string, ok bool) {
	i := slices.IndexFunc(taken, func(e subordinateEntry) bool {
		return uint64(e.ids.Host) < uint64(r.Host)+uint64(r.Count) && uint64(r.Host) < uint64(e.ids.Host)+uint64(e.ids.Count)
	})
	if i < 0 {
		return "", false
	}
	return taken[i].owner, true
}

func chooseIDs(taken []subordinateEntry) (runtime.IDs, error) {
	for first := uint32(rootRangeFirst); first < rootRangeEnd; first += idCount {
		r := runtime.IDRange{Host: first, Count: idCount}
		if _, used := overlap(taken, r); !used {
			return runtime.IDs{Mode: runtime.ModeRoot, UIDs: r, GIDs: r}, nil
		}
	}
	return runtime.IDs{}, &fault.Error{Kind: fault.Host, Message: "no range of 65536 unused ids is left for sandboxes of root",
		Fix: "remove subordinate ranges that nobody uses from /etc/subuid and /etc/subgid"}
}

// readIDs reads the record, which must be root's own: who could write it could give
// the sandbox anybody's ids.
func readIDs(path string, uid int) (runtime.IDs, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return runtime.IDs{}, err
	}
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return runtime.IDs{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Uid != uint32(uid) || st.Mode&0o077 != 0 {
		return runtime.IDs{}, fmt.Errorf("%s is not a private file of user %d", path, uid)
	}
	const limit = 256
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return runtime.IDs{}, err
	}
	var record idsRecord
	if err := canon.Unmarshal(b, limit, &record); err != nil {
		return runtime.IDs{}, err
	}
	ids := record.IDs
	if record.Version != 1 || ids.Mode != runtime.ModeRoot || ids.UIDs != ids.GIDs || ids.UIDs.Count != idCount ||
		ids.UIDs.Host < rootRangeFirst || ids.UIDs.Host >= rootRangeEnd {
		return runtime.IDs{}, fmt.Errorf("%s holds no range of this version", path)
	}
	return ids, nil
}

// recordIDs writes the record whole or not at all, and never over another.
func recordIDs(path string, ids runtime.IDs) error {
	b, err := canon.Marshal(idsRecord{Version: 1, IDs: ids})
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+idsFile+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
