package proc

import (
	"bytes"
	"os"
	"reflect"
	"runtime/debug"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// GiveBack returns to the system what starting took: the free pages of the heap, and
// this process's hold on the pages of its own program. Those come back from the page
// cache as they are used (madvise(2), MADV_DONTNEED of a file mapping nobody has
// written). It is for processes that have started and will idle for hours.
func GiveBack() {
	debug.FreeOSMemory()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for _, m := range programMappings(maps, reflect.ValueOf(GiveBack).Pointer()) {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.start, m.end-m.start, unix.MADV_DONTNEED) // a hint
	}
}

type mapping struct{ start, end uintptr }

// programMappings lists the unwritable mappings of the file that the mapping around
// address is of, from the content of /proc/PID/maps (proc_pid_maps(5)).
func programMappings(maps []byte, address uintptr) []mapping {
	program := ""
	byFile := map[string][]mapping{}
	for line := range bytes.Lines(maps) {
		fields := strings.Fields(string(line))
		if len(fields) < 6 {
			continue // of no file
		}
		first, last, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(first, 16, 64)
		if err != nil {
			continue
		}
		end, err := strconv.ParseUint(last, 16, 64)
		if err != nil {
			continue
		}
		file := fields[3] + " " + fields[4] // device and inode
		m := mapping{uintptr(start), uintptr(end)}
		if m.start <= address && address < m.end {
			program = file
		}
		if fields[1] == "r-xp" || fields[1] == "r--p" {
			byFile[file] = append(byFile[file], m)
		}
	}
	return byFile[program]
}
