package config

import (
	"errors"
	"fmt"
	"net/netip"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"lazaret.dev/lazaret/internal/agents"
)

// shapeError is a bad value and, where there is one, the way to write it.
type shapeError struct{ message, hint string }

func (e *shapeError) Error() string { return e.message }

func bad(hint, format string, args ...any) error {
	return &shapeError{message: fmt.Sprintf(format, args...), hint: hint}
}

func hintOf(err error) string {
	var s *shapeError
	if errors.As(err, &s) {
		return s.hint
	}
	return ""
}

// pattern is a shape of at most limit bytes, compiled when first used: most of
// Lazaret's processes read no configuration, and every start counts. The limit is
// apart because a bounded repetition in an expression costs as much as its bound.
type pattern struct {
	limit   int
	compile func() *regexp.Regexp
}

func newPattern(limit int, expression string) pattern {
	return pattern{limit, sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })}
}

func (p pattern) MatchString(s string) bool { return len(s) <= p.limit && p.compile().MatchString(s) }

var (
	profilePattern = newPattern(32, `^[a-z0-9_-]{2,}$`)
	envPattern     = newPattern(128, `^[A-Za-z_][A-Za-z0-9_]*$`)
	actionPattern  = newPattern(64, `^[a-z][a-z0-9._-]*$`)
	chordPattern   = newPattern(64, `^((ctrl|alt|shift)\+){0,3}([!-~]|space|tab|enter|esc|backspace|delete|insert|home|end|pgup|pgdown|up|down|left|right|f[1-9]|f1[0-2])$`)
	userPattern    = newPattern(32, `^([a-z_][a-z0-9_-]*|[0-9]{1,10}(:[0-9]{1,10})?)$`)
	imagePattern   = newPattern(255, `^[A-Za-z0-9][A-Za-z0-9._/:@-]*$`)
	sizePattern    = newPattern(18, `^([0-9]{1,15})(B|KiB|MiB|GiB|TiB)$`)
)

// reserved are the names of the Storage Root's own folders: a profile called like
// one would have its profile_dir there.
var reserved = []string{
	"blobs", "builds", "cache", "catalog", "domains", "generations", "ids", "images", "keys", "leases", "locks", "logs",
	"lowers", "profiles", "qualification", "quarantine", "run", "runtime", "staging", "state", "store", "tmp", "trash", "trust", "worktrees",
}

func profileName(s string) error {
	if !profilePattern.MatchString(s) {
		return bad("a profile name has 2 to 32 of a-z, 0-9, _ and -", "%q is not a profile name", s)
	}
	if slices.Contains(reserved, s) {
		return bad("choose another name, such as my-"+s, "the profile name %q is reserved: the Storage Root has a folder called so", s)
	}
	return nil
}

func agentName(s string) error {
	if _, ok := agents.Lookup(s); s == "" || ok {
		return nil
	}
	return bad(didYouMean(s, agents.Names()), "there is no built-in agent %q", s)
}

func envName(s string) error {
	switch {
	case !envPattern.MatchString(s):
		return bad("use letters, digits and _", "%q is not a name of an environment variable", s)
	case strings.HasPrefix(s, "LAZARET_"):
		return bad("", "variables starting with LAZARET_ are Lazaret's own")
	}
	return nil
}

func actionName(s string) error {
	if !actionPattern.MatchString(s) {
		return bad("lazaret's help screen (?) names the actions", "%q is not the name of an action", s)
	}
	return nil
}

func chord(s string) error {
	if !chordPattern.MatchString(s) {
		return bad(`write it like "ctrl+g", "alt+x" or "f2"`, "%q is not a key", s)
	}
	return nil
}

func chordOrNothing(s string) error {
	if s == "" {
		return nil
	}
	return chord(s)
}

func oneOf(words ...string) func(string) error {
	return func(s string) error {
		if slices.Contains(words, s) {
			return nil
		}
		return bad(didYouMean(s, words), "%q is not one of %s", s, strings.Join(words, ", "))
	}
}

func between(low, high int64) func(int64) error {
	return func(n int64) error {
		if n < low || n > high {
			return bad("", "%d is not between %d and %d", n, low, high)
		}
		return nil
	}
}

func noNUL(s string) error {
	if strings.ContainsRune(s, 0) {
		return bad("", "holds a NUL character")
	}
	return nil
}

// prefixShape accepts the CIDR notation of one IPv4 network; IPv6 is off inside.
func prefixShape(s string) error {
	p, err := netip.ParsePrefix(s)
	if err != nil {
		if a, err := netip.ParseAddr(s); err == nil && a.Is4() {
			return bad(fmt.Sprintf("write %q for this one address", s+"/32"), "%q has no prefix length", s)
		}
		return bad(`write it like "10.0.0.0/8"`, "%q is not a network", s)
	}
	if !p.Addr().Is4() {
		return bad("leave it out: the sandbox has no IPv6", "%q is not an IPv4 network", s)
	}
	if p != p.Masked() {
		return bad(fmt.Sprintf("did you mean %q?", p.Masked()), "%q has bits set beyond its prefix length", s)
	}
	return nil
}

func expireShape(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return bad(`write it like "10m" or "90s"`, "%q is not a duration", s)
	}
	if d < 10*time.Second || d > 24*time.Hour || d%time.Second != 0 {
		return bad("", "%q is not whole seconds between 10s and 24h", s)
	}
	return nil
}

func parseSize(s string) (int64, error) {
	if !sizePattern.MatchString(s) {
		return 0, bad(`write it like "512MiB" or "4GiB"`, "%q is not a size", s)
	}
	m := sizePattern.compile().FindStringSubmatch(s)
	n, err := strconv.ParseInt(m[1], 10, 64)
	shift := map[string]uint{"B": 0, "KiB": 10, "MiB": 20, "GiB": 30, "TiB": 40}[m[2]]
	if err != nil || n > (1<<62)>>shift {
		return 0, bad("", "%q is too large", s)
	}
	return n << shift, nil
}

func userShape(s string) error {
	if !userPattern.MatchString(s) {
		return bad(`write "root", a user name of the image, or "uid:gid"`, "%q is not a user", s)
	}
	for _, n := range strings.Split(s, ":") {
		if v, err := strconv.ParseUint(n, 10, 64); err == nil && v > 65535 {
			return bad("", "%q is above 65535, the last id the sandbox has", n)
		}
	}
	return nil
}

func imageShape(s string) error {
	if s == "builtin" {
		return nil
	}
	for _, scheme := range []string{"oci:", "docker-archive:"} {
		if p, ok := strings.CutPrefix(s, scheme); ok {
			return hostPathTokens(p)
		}
	}
	if !imagePattern.MatchString(s) {
		return bad(`write "builtin", "oci:DIR", "docker-archive:FILE" or a reference such as "registry.example/name:tag"`, "%q is not an image", s)
	}
	return nil
}

// namePatternShape accepts a pattern of one name of a file or directory, in the
// notation of path.Match.
func namePatternShape(s string) error {
	switch _, err := path.Match(s, ""); {
	case err != nil:
		return bad(`write it like ".env.*"`, "%q is not a pattern: a bracket is not closed, or a backslash ends it", s)
	case s == "" || s == "." || s == ".." || strings.Contains(s, "/"):
		return bad(`write one name, such as ".vscode" or "*.pem": it counts in every folder`, "%q is not a pattern of a name", s)
	case len(s) > 255:
		return bad("", "%q is longer than a name may be", s)
	case strings.Trim(s, "*") == "":
		return bad("name what is to be kept from the sandbox", "%q is every name", s)
	}
	return noNUL(s)
}

func volumeMode(s string) error {
	if s == "z" || s == "Z" {
		return bad("leave it out: no container engine relabels anything here", "mode %q is for SELinux sharing", s)
	}
	return oneOf("ro", "rw")(s)
}

func certificatesShape(s string) error {
	if s == "host" || s == "image" {
		return nil
	}
	return hostPathShape(s)
}

// hostPathShape accepts an absolute host path without tokens.
func hostPathShape(s string) error {
	if err := hostPathTokens(s); err != nil {
		return err
	}
	if strings.HasPrefix(s, "{") {
		return bad("write an absolute path, or one that starts with ~/", "%q may not use tokens", s)
	}
	return nil
}

// hostPathTokens accepts a host path that is absolute once expanded.
func hostPathTokens(s string) error {
	if err := noNUL(s); err != nil {
		return err
	}
	if hasDotDot(s) {
		return bad("write the path it leads to", `%q contains ".."`, s)
	}
	if strings.HasPrefix(s, "/") || s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, "{") {
		return nil
	}
	if strings.HasPrefix(s, "~") {
		return bad("write the absolute path: only ~/ is expanded", "%q names another user's home", s)
	}
	return bad("write an absolute path, or one that starts with ~/ or {workspace_dir}", "%q is not an absolute path", s)
}

// guestPathTokens accepts an absolute, clean path inside the sandbox.
func guestPathTokens(s string) error {
	if err := noNUL(s); err != nil {
		return err
	}
	if hasDotDot(s) {
		return bad("write the path it leads to", `%q contains ".."`, s)
	}
	if !strings.HasPrefix(s, "/") || path.Clean(s) != strings.TrimSuffix(s, "/") && s != "/" {
		return bad(`write it like "/data/cache"`, "%q is not an absolute path inside the sandbox", s)
	}
	return nil
}

func guestFileShape(s string) error {
	if s == "" {
		return nil // no credentials file
	}
	if err := guestPathTokens(s); err != nil {
		return err
	}
	if s == "/" || strings.HasSuffix(s, "/") || under(s, "/run") || under(s, "/proc") || under(s, "/dev") || under(s, "/sys") {
		return bad("", "%q cannot be the credentials file", s)
	}
	return nil
}

func persistentShape(s string) error {
	if err := guestPathTokens(s); err != nil {
		return err
	}
	for _, never := range []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/workspace"} {
		if s == "/" || under(s, never) {
			return bad("leave it out", "%q cannot persist in a State Anchor", s)
		}
	}
	return nil
}

// ruleShape refuses vectors that may never be approved without a look: those are
// judged again for every request, this only says so early.
func ruleShape(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return bad("", "an auto-approved command is empty")
	}
	for _, a := range argv {
		if strings.ContainsAny(a, ";|&$`<>\n\r\\") || strings.ContainsFunc(a, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return bad("approve such commands one by one", "%q has shell or control characters and can never be approved without asking", a)
		}
	}
	if slices.Contains(neverAlone, path.Base(argv[0])) {
		return bad("approve it one by one", "%q can run other commands and can never be approved without asking", path.Base(argv[0]))
	}
	return nil
}

// neverAlone are programs that run what their arguments say.
var neverAlone = []string{
	"git", "sh", "bash", "dash", "zsh", "fish", "ksh", "busybox", "env", "xargs", "nice", "timeout", "nohup", "setsid", "stdbuf", "sudo", "su", "doas",
	"pkexec", "ssh", "python", "python3", "perl", "ruby", "node", "php", "lua", "awk", "gawk", "sed", "find", "make", "ninja", "npx", "watch", "strace", "gdb",
}
