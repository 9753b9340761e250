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

// npmVersion is an npm that the Node of Debian 12 (18) can run.
const (
	npmVersion = "10.9.4"
	npmDigest  = "3a7506f37e85c1ba1021baad79f0cd9724748131f321fc117c4dc3ba235ec01b" +
		"e7327584a41d15117c01945560aa9373220628fcc1e1dddd877a5fe9b336a900" // SHA-512
)

// prologue ends early when the agent is there and runs, and else makes sure of
// npm. The distribution's npm would bring some five hundred packages, which takes
// minutes: npm's own archive is one file, and the distribution's package, not
// installed, says which registry has it. dpkg need not flush each file because
// the step counts as done only after the sync at its end.
const prologue = `set -eu
if %[1]s --version >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
if ! command -v npm >/dev/null 2>&1; then
  get="apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 -o Dpkg::Options::=--force-unsafe-io"
  echo "reading package lists"
  apt-get update -qq
  echo "installing node"
  $get ca-certificates curl nodejs
  echo "installing npm"
  work=$(mktemp -d)
  chmod 755 "$work"
  cd "$work"
  apt-get download -qq -o APT::Sandbox::User=root npm
  dpkg-deb -x npm_*.deb .
  registry=${npm_config_registry:-$(sed -n "s/^ *default: '\(https:[^']*\)',*$/\1/p" usr/share/nodejs/npm/lib/utils/config/definitions.js | head -n 1)}
  curl -fsSL --retry 3 -o npm.tgz "${registry%%/}/npm/-/npm-` + npmVersion + `.tgz"
  echo "` + npmDigest + `  npm.tgz" | sha512sum -c --quiet
  mkdir -p /usr/local/lib/node_modules/npm
  tar -xzf npm.tgz --strip-components=1 --no-same-owner -C /usr/local/lib/node_modules/npm
  ln -sf ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
  ln -sf ../lib/node_modules/npm/bin/npx-cli.js /usr/local/bin/npx
  cd /
  rm -rf "$work"
fi
export npm_config_audit=false npm_config_fund=false npm_config_update_notifier=false npm_config_loglevel=error
export npm_config_cache=/var/cache/lazaret-npm
echo "installing %[1]s"
`

// epilogue drops what was only needed to install, since all of it would persist,
// and fails unless the program really starts.
const epilogue = `rm -rf /var/cache/lazaret-npm
apt-get clean
sync
%[1]s --version
`

// install is the whole step for a program.
func install(program, steps string, args ...any) string {
	return fmt.Sprintf(prologue, program) + fmt.Sprintf(steps, args...) + fmt.Sprintf(epilogue, program)
}
