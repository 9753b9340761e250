package main

import (
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"

	"lazaret.dev/lazaret/runtime"
)

// hostIDs chooses how guest ids map to host ids.
func hostIDs(string) (runtime.IDs, string, error) {
	if os.Getuid() == 0 {
		wide := runtime.IDRange{Host: 700_000_000, Count: 65536}
		return runtime.IDs{Mode: runtime.ModeRoot, UIDs: wide, GIDs: wide}, "", nil
	}
	me, err := user.Current()
	if err != nil {
		return runtime.IDs{}, "", fmt.Errorf("look up the current user: %w", err)
	}
	uids, ok1 := subordinate("/etc/subuid", me)
	gids, ok2 := subordinate("/etc/subgid", me)
	if !ok1 || !ok2 {
		return runtime.IDs{Mode: runtime.ModeSingle}, "no subordinate ids: the sandbox has only root", nil
	}
	return runtime.IDs{Mode: runtime.ModeSubordinate, UIDs: uids, GIDs: gids}, "", nil
}

func subordinate(file string, me *user.User) (runtime.IDRange, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return runtime.IDRange{}, false
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 || f[0] != me.Username && f[0] != me.Uid {
			continue
		}
		host, err1 := strconv.ParseUint(f[1], 10, 32)
		count, err2 := strconv.ParseUint(f[2], 10, 32)
		if err1 == nil && err2 == nil && count >= 65536 {
			return runtime.IDRange{Host: uint32(host), Count: 65536}, true
		}
	}
	return runtime.IDRange{}, false
}
