package agents

import "fmt"

// The versions the recipes were written against and run with. A developer who
// wants another installs it inside, where it persists, or sets install.
const (
	claudeVersion   = "2.1.197"
	codexVersion    = "0.171.0"
	geminiVersion   = "0.61.0"
	opencodeVersion = "1.18.33"
	nodeVersion     = "22.23.3"
)

// prologue ends early when the agent is there and runs, and else makes sure of
// npm. Debian 12's Node (18) installs all of them; it only is too old to run one.
const prologue = `set -eu
if %[1]s --version >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
if ! command -v npm >/dev/null 2>&1; then
  apt-get update
  apt-get install -y --no-install-recommends ca-certificates nodejs npm
fi
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_loglevel=error
export npm_config_cache=/var/cache/lazaret-npm
`

// epilogue drops what was only needed to install, since all of it would persist,
// and fails unless the program really starts.
const epilogue = `rm -rf /var/cache/lazaret-npm
apt-get clean
%[1]s --version
`

// install is the whole step for a program.
func install(program, steps string, args ...any) string {
	return fmt.Sprintf(prologue, program) + fmt.Sprintf(steps, args...) + fmt.Sprintf(epilogue, program)
}
