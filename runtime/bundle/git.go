package bundle

import (
	"strconv"
	"strings"
)

// gitSettings hold inside only. gVisor shows other device, inode and change times than
// the host's Git put into the index; without these every first `git status` on either
// side reads the whole tree again and writes the index anew.
var gitSettings = [][2]string{{"core.checkStat", "minimal"}, {"core.trustctime", "false"}}

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
