package guest

import (
	"io"

	"lazaret.dev/lazaret/runtime/guest/control"
)

// The pieces external tests look at.
var (
	LookPath  = lookPath
	Poke      = poke
	ReadFile  = readFile
	WriteFile = writeFile
)

// Stat is parseStat's result.
type Stat struct {
	PID, Parent, Group int
	Dead               bool
}

// ParseStat is parseStat.
func ParseStat(line string) (Stat, bool) {
	p, ok := parseStat([]byte(line))
	return Stat{p.pid, p.parent, p.group, p.dead}, ok
}

// Descendants is descendants over pairs of pid and parent.
func Descendants(parents map[int]int, root int) []int {
	table := map[int]process{}
	for pid, parent := range parents {
		table[pid] = process{pid: pid, parent: parent}
	}
	return descendants(table, root)
}

// InitWithoutCgroups is InitMain where the guest has no cgroup.
func InitWithoutCgroups(args []string, in io.Reader, out io.Writer) int {
	options, err := control.ParseInit(args)
	if err != nil {
		return 2
	}
	i := &initProcess{roots: roots{proc: "/proc", cgroup: "/nonexistent"}, out: out}
	return i.run(options, in)
}

// SessionWithoutCgroups is SessionMain where the guest has no cgroup.
func SessionWithoutCgroups(args []string) int {
	options, err := control.ParseSession(args)
	if err != nil {
		return statusCannotRun
	}
	w := &wrapper{roots: roots{proc: "/proc", cgroup: "/nonexistent"}, session: options}
	return w.run()
}
