package bundle

import (
	"strconv"
	"strings"

	"lazaret.dev/lazaret/runtime"
)

// gitSettings hold inside only.
//
// gVisor shows other device, inode and change times than the host's Git put into the
// index: without the first two every first `git status` on either side reads the whole
// tree again and writes the index anew. An index with an untracked cache, a shared
// part or a table of offsets is refused by the workspace file system. The host's linked worktrees lie at
// paths that do not exist inside, and pruning would take them for gone; their logs of
// HEAD are read-only from another one, and `git gc` fails where it may not shorten a log. Stand-ins are
// not to be added by `git add --all`. Git would give each new object its name by a hard
// link first, which a git directory of the workspace refuses.
var gitSettings = [][2]string{
	{"core.checkStat", "minimal"}, {"core.trustctime", "false"},
	{"core.untrackedCache", "false"}, {"core.splitIndex", "false"},
	{"gc.worktreePruneExpire", "never"},
	{"core.excludesFile", runtime.GuestGitExcludes},
	{"core.createObject", "rename"},
	{"index.recordOffsetTable", "false"},
	{"gc.reflogExpire", "never"}, {"gc.reflogExpireUnreachable", "never"},
}

const gitCount = "GIT_CONFIG_COUNT"

// withGitSettings adds the settings to env the way git-config(1) takes them from the
// environment, after those that are there. A count that is none is Git's to refuse.
func withGitSettings(env []string) []string {
	count, at := 0, -1
	for i, v := range env {
		if value, ok := strings.CutPrefix(v, gitCount+"="); ok {
			n, err := strconv.Atoi(value)
			if err != nil || n < 0 {
				return env
			}
			count, at = n, i
		}
	}
	for _, s := range gitSettings {
		number := strconv.Itoa(count)
		env = append(env, "GIT_CONFIG_KEY_"+number+"="+s[0], "GIT_CONFIG_VALUE_"+number+"="+s[1])
		count++
	}
	total := gitCount + "=" + strconv.Itoa(count)
	if at < 0 {
		return append(env, total)
	}
	env[at] = total
	return env
}
