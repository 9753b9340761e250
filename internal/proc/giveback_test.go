package proc

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

func TestProgramMappings(t *testing.T) {
	t.Parallel()
	maps := []byte(`00400000-00a00000 r-xp 00000000 08:01 7 /bin/program
00a00000-01200000 r--p 00600000 08:01 7 /bin/program
01200000-01240000 rw-p 00e00000 08:01 7 /bin/program
01240000-01280000 rw-p 00000000 00:00 0
c000000000-c000400000 rw-p 00000000 00:00 0
7f0000000000-7f0000001000 r--p 00000000 08:01 8 /lib/other file
7fff00000000-7fff00001000 r-xp 00000000 00:00 0 [vdso]
`)
	want := []mapping{{0x400000, 0xa00000}, {0xa00000, 0x1200000}}
	if got := programMappings(maps, 0x500000); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x: what can be written and other files stay", got, want)
	}
	if got := programMappings(maps, 0xb0000000); got != nil {
		t.Errorf("no program there: %x", got)
	}
}

// TestGiveBack is not parallel: other tests would have their pages mapped again.
func TestGiveBack(t *testing.T) {
	before := residentFile(t)
	GiveBack()
	if after := residentFile(t); after >= before {
		t.Errorf("%d kB of files are mapped, %d before", after, before)
	}
}

func residentFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if m == nil {
		t.Fatal("no RssFile")
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
