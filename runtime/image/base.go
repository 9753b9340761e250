package image

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

const (
	fallbackSuite = "bookworm"
	maxSources    = 256 << 10
)

// base is the Debian release the guest runs, and where its packages come from.
// Empty mirrors are those mmdebstrap knows by itself.
type base struct {
	suite   string
	archive string // mirror of the release and its updates
	updates string // mirror of its security updates
}

var suitePattern = regexp.MustCompile(`^[a-z]{2,20}$`)

// hostBase chooses the host's own Debian release and mirrors, which are known to
// be reachable, and otherwise a release that is.
func hostBase() base {
	b := base{suite: fallbackSuite}
	text, err := readBounded("/usr/lib/os-release", maxSources)
	if err != nil {
		return b
	}
	release := assignments(string(text))
	if release["ID"] != "debian" || !suitePattern.MatchString(release["VERSION_CODENAME"]) {
		return b
	}
	b.suite = release["VERSION_CODENAME"]
	for _, path := range sourceFiles() {
		if text, err := readBounded(path, maxSources); err == nil {
			b.learn(string(text), strings.HasSuffix(path, ".sources"))
		}
	}
	return b
}

// lines are the guest's apt sources; none where mmdebstrap is to use its own. A
// mirror that names no place for security updates has them beside the release.
func (b base) lines() []string {
	if b.archive == "" {
		return nil
	}
	updates := b.updates
	if updates == "" {
		updates = b.archive + "-security"
	}
	return []string{
		"deb " + b.archive + " " + b.suite + " main",
		"deb " + b.archive + " " + b.suite + "-updates main",
		"deb " + updates + " " + b.suite + "-security main",
	}
}

func sourceFiles() []string {
	files := []string{"/etc/apt/sources.list"}
	for _, pattern := range []string{"*.list", "*.sources"} {
		more, _ := filepath.Glob("/etc/apt/sources.list.d/" + pattern) // the pattern is well-formed
		sort.Strings(more)
		files = append(files, more...)
	}
	return files
}

// learn takes the mirrors of this suite from one apt source file, in the
// one-line or the deb822 form.
func (b *base) learn(text string, deb822 bool) {
	if !deb822 {
		for line := range strings.Lines(text) {
			if uri, suite := oneLine(line); uri != "" {
				b.take(uri, suite)
			}
		}
		return
	}
	for stanza := range strings.SplitSeq(text, "\n\n") {
		fields := colonFields(stanza)
		uris := strings.Fields(fields["uris"])
		if len(uris) == 0 || !strings.Contains(" "+fields["types"]+" ", " deb ") || fields["enabled"] == "no" {
			continue
		}
		for _, suite := range strings.Fields(fields["suites"]) {
			b.take(uris[0], suite)
		}
	}
}

func (b *base) take(uri, suite string) {
	if !strings.HasPrefix(uri, "http://") && !strings.HasPrefix(uri, "https://") || strings.ContainsAny(uri, "@\"'") {
		return
	}
	uri = strings.TrimSuffix(uri, "/")
	switch suite {
	case b.suite:
		b.archive = uri
	case b.suite + "-security":
		b.updates = uri
	}
}

// oneLine reads "deb [options] URI SUITE COMPONENT…".
func oneLine(line string) (uri, suite string) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "deb ")
	if !ok {
		return "", ""
	}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "[") {
		_, after, ok := strings.Cut(rest, "]")
		if !ok {
			return "", ""
		}
		rest = after
	}
	if f := strings.Fields(rest); len(f) >= 3 {
		return f[0], f[1]
	}
	return "", ""
}

func colonFields(stanza string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(stanza) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[strings.ToLower(strings.TrimSpace(name))] = strings.TrimSpace(value)
		}
	}
	return fields
}

// assignments reads NAME=value lines as os-release(5) has them.
func assignments(text string) map[string]string {
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = strings.Trim(value, `"'`)
		}
	}
	return values
}

// proxies are the variables that say how to reach a mirror from this host.
func proxies() []string {
	var env []string
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		if value := os.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// parseStatus reads dpkg's status file and returns "name=version" lines, sorted.
func parseStatus(r io.Reader) []string {
	var out []string
	name := ""
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), 1<<20)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "Package: "); ok {
			name = value
		}
		if value, ok := strings.CutPrefix(lines.Text(), "Version: "); ok && name != "" {
			out = append(out, name+"="+value)
			name = ""
		}
	}
	sort.Strings(out)
	return out
}
