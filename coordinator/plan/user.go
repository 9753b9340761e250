package plan

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

const (
	maxPasswd = 1 << 20
	maxID     = 65535 // the highest id a sandbox has
)

var errNoSuchUser = errors.New("no such user")

// user resolves the profile's user against the prepared lower. "root" is guest
// root whatever the image says.
func (b builder) user() (runtime.User, error) {
	name := b.profile.User
	if name == "" || name == "root" || name == "0" || name == "0:0" {
		return runtime.User{Home: "/root"}, nil
	}
	if b.around.IDs.Mode == runtime.ModeSingle {
		return runtime.User{}, &fault.Error{Kind: fault.Host,
			Message: fmt.Sprintf("profile %q wants user %q, but without subordinate ids a sandbox has only root", b.profile.Name, name),
			Fix:     "give yourself subordinate ids (lazaret doctor says how), or set user = \"root\""}
	}
	user, err := resolveUser(b.around.Lower.Rootfs, name)
	if err != nil {
		return user, &fault.Error{Kind: fault.Config, Err: err,
			Message: fmt.Sprintf("user %q of profile %q is not in its image", name, b.profile.Name),
			Fix:     "name a user of the image's /etc/passwd, or a number uid[:gid] below 65536"}
	}
	return user, nil
}

func resolveUser(rootfs, name string) (runtime.User, error) {
	entries, err := readPasswd(rootfs)
	if err != nil {
		return runtime.User{}, err
	}
	first, second, numeric := numbers(name)
	for _, e := range entries {
		if e.name != name && (!numeric || e.UID != first) {
			continue
		}
		user := e.User
		if second != nil {
			user.GID = *second
		}
		return user, nil
	}
	if !numeric {
		return runtime.User{}, errNoSuchUser
	}
	user := runtime.User{UID: first, GID: first, Home: "/"}
	if second != nil {
		user.GID = *second
	}
	return user, nil
}

// numbers reads "uid" or "uid:gid".
func numbers(s string) (uid uint32, gid *uint32, ok bool) {
	left, right, both := strings.Cut(s, ":")
	u, err := strconv.ParseUint(left, 10, 32)
	if err != nil || u > maxID {
		return 0, nil, false
	}
	if !both {
		return uint32(u), nil, true
	}
	g, err := strconv.ParseUint(right, 10, 32)
	if err != nil || g > maxID {
		return 0, nil, false
	}
	group := uint32(g)
	return uint32(u), &group, true
}

type passwdEntry struct {
	name string
	runtime.User
}

// readPasswd reads the image's /etc/passwd, following links only inside it. An
// image without one has no users.
func readPasswd(rootfs string) ([]passwdEntry, error) {
	root, err := os.OpenRoot(rootfs)
	if err != nil {
		return nil, fmt.Errorf("open prepared image: %w", err)
	}
	defer root.Close()
	f, err := root.Open("etc/passwd")
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read users of image: %w", err)
	}
	defer f.Close()
	var entries []passwdEntry
	lines := bufio.NewScanner(io.LimitReader(f, maxPasswd))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) != 7 {
			continue
		}
		uid, err1 := strconv.ParseUint(fields[2], 10, 32)
		gid, err2 := strconv.ParseUint(fields[3], 10, 32)
		if err1 != nil || err2 != nil || uid > maxID || gid > maxID || !strings.HasPrefix(fields[5], "/") {
			continue
		}
		entries = append(entries, passwdEntry{fields[0], runtime.User{UID: uint32(uid), GID: uint32(gid), Home: fields[5]}})
	}
	return entries, nil
}
