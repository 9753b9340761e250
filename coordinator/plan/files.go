package plan

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// usualTerminals are given to every sandbox besides the starting client's own, so
// that a client on another terminal can join.
var usualTerminals = []string{
	"xterm", "xterm-256color", "screen", "screen-256color", "tmux", "tmux-256color", "linux", "vt100",
	"alacritty", "foot", "xterm-kitty", "xterm-ghostty", "wezterm", "rxvt-unicode-256color", "vte-256color", "konsole-256color",
}

const maxTerminfo = 64 << 10

// maxTerminalName bounds a TERM; terminalName keeps it from being a path.
const maxTerminalName = 64

var terminalName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+_-]*$`)

// terminfo is the compiled entry of each terminal the host knows, put where every
// ncurses looks last, so that the image's own come first.
func terminfo(environ []string) []runtime.GuestFile {
	dirs := []string{lookup(environ, "TERMINFO")}
	if home := lookup(environ, "HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, ".terminfo"))
	}
	dirs = append(dirs, "/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo")
	names := append([]string{lookup(environ, "TERM")}, usualTerminals...)
	var files []runtime.GuestFile
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] || len(name) > maxTerminalName || !terminalName.MatchString(name) {
			continue
		}
		seen[name] = true
		if data := findTerminfo(dirs, name); data != nil {
			files = append(files, runtime.GuestFile{
				Path: "/usr/share/terminfo/" + name[:1] + "/" + name, Mode: 0o644, Data: data,
			})
		}
	}
	return files
}

func findTerminfo(dirs []string, name string) []byte {
	for _, dir := range dirs {
		if !filepath.IsAbs(dir) {
			continue
		}
		for _, letter := range []string{name[:1], fmt.Sprintf("%x", name[0])} {
			if data, err := readRegular(filepath.Join(dir, letter, name), maxTerminfo); err == nil && len(data) > 0 {
				return data
			}
		}
	}
	return nil
}

// hostBundles is where distributions keep their certificates, in one file.
var hostBundles = []string{
	"/etc/ssl/certs/ca-certificates.crt", // Debian, Ubuntu, Arch, Alpine
	"/etc/pki/tls/certs/ca-bundle.crt",   // Fedora, RHEL
	"/etc/ssl/ca-bundle.pem",             // openSUSE
	"/etc/ssl/cert.pem",
}

const (
	maxBundle   = 4 << 20
	guestBundle = "/etc/lazaret/ca-certificates.crt"
)

// bundleVariables are what programs look at for a bundle of their own.
var bundleVariables = []string{
	"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
}

// certificateFiles is the certificate bundle for ca_certificates = how, and the
// variables that make programs use it.
func certificateFiles(how string) ([]runtime.GuestFile, []string, error) {
	var data []byte
	switch how {
	case "image":
		return nil, nil, nil
	case "host", "":
		for _, path := range hostBundles {
			if found, err := readRegular(path, maxBundle); err == nil {
				data = found
				break
			}
		}
		if data == nil { // a host without certificates has none to give
			return nil, nil, nil
		}
	default:
		var err error
		if data, err = readRegular(how, maxBundle); err != nil {
			return nil, nil, &fault.Error{Kind: fault.Config, Message: "ca_certificates cannot be read", Err: err,
				Fix: `name a file of PEM certificates, or use "host" or "image"`}
		}
	}
	vars := make([]string, len(bundleVariables))
	for i, name := range bundleVariables {
		vars[i] = name + "=" + guestBundle
	}
	return []runtime.GuestFile{{Path: guestBundle, Mode: 0o644, Data: data}}, vars, nil
}

// gitFiles is a system-wide Git configuration with who the developer is, so that
// commits made inside carry their name, and trust in the workspace, whose owner
// may be another user inside. An image that has such a file keeps its own.
func gitFiles(rootfs, home string) []runtime.GuestFile {
	if root, err := os.OpenRoot(rootfs); err == nil {
		defer root.Close()
		if _, err := root.Lstat("etc/gitconfig"); err == nil {
			return nil
		}
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "[safe]\n\tdirectory = %s\n", WorkspaceGuest)
	if name, email := gitIdentity(home); name != "" || email != "" {
		fmt.Fprint(&out, "[user]\n")
		if name != "" {
			fmt.Fprintf(&out, "\tname = %s\n", gitQuote(name))
		}
		if email != "" {
			fmt.Fprintf(&out, "\temail = %s\n", gitQuote(email))
		}
	}
	return []runtime.GuestFile{{Path: "/etc/gitconfig", Mode: 0o644, Data: out.Bytes()}}
}

func gitQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

const maxGitConfig = 256 << 10

// gitIdentity reads user.name and user.email of the developer's own Git
// configuration. It reads two files and runs nothing: an include is not followed.
func gitIdentity(home string) (name, email string) {
	if home == "" {
		return "", ""
	}
	for _, path := range []string{filepath.Join(home, ".config", "git", "config"), filepath.Join(home, ".gitconfig")} {
		data, err := readRegular(path, maxGitConfig)
		if err != nil {
			continue
		}
		n, e := parseIdentity(string(data))
		if n != "" {
			name = n
		}
		if e != "" {
			email = e
		}
	}
	return name, email
}

func parseIdentity(text string) (name, email string) {
	lines := bufio.NewScanner(strings.NewReader(text))
	inUser := false
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			inUser = strings.EqualFold(line, "[user]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !inUser || !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if strings.ContainsAny(value, "\\\"#;") || len(value) > 256 || hasControl(value) {
			continue // rare, and not worth a parser: Git inside asks for it
		}
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "name":
			name = value
		case "email":
			email = value
		}
	}
	return name, email
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

var errNotRegular = errors.New("not a regular file")

// readRegular reads a regular file of at most limit bytes. It opens nothing that
// could block or act: no FIFO, no device.
func readRegular(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("read %q: %w", path, errNotRegular)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("read %q: longer than %d bytes", path, limit)
	}
	return data, nil
}
