package policy

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// ErrRefused is wrapped by every reason for which a request is not shown. The
// text after it is for the asker.
var ErrRefused = errors.New("request refused")

// Config says what a Domain's requests may refer to.
type Config struct {
	// Workspace is the Agent Workspace on the host, canonical; WorkspaceGuest is
	// where it is seen inside.
	Workspace, WorkspaceGuest string
	// Writable are other canonical host paths the sandbox can write.
	Writable []string
	// Environ is the environment approved programs get, "NAME=value". Its PATH
	// finds them.
	Environ []string
	// Journal reads what the sandbox is known to have written in the workspace, to be
	// named on the card; nil: nothing is known. It is called for each request that runs
	// code of the project.
	Journal func() (*journal.Journal, error)
	// Now is the time; nil: the real one.
	Now func() time.Time
}

// Policy judges the requests of one Domain. Its methods may overlap.
type Policy struct {
	Config
	root     *os.File // the workspace, as it was when the Policy was made
	user     string
	isRoot   bool
	search   []string
	writable []string
}

// New opens the workspace. The caller closes the Policy.
func New(c Config) (*Policy, error) {
	if c.WorkspaceGuest == "" || !path.IsAbs(c.WorkspaceGuest) {
		return nil, fmt.Errorf("judge requests: guest workspace %q is not absolute", c.WorkspaceGuest)
	}
	fd, err := unix.Open(c.Workspace, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open workspace %q: %w", c.Workspace, err)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	p := &Policy{
		Config:   c,
		root:     os.NewFile(uintptr(fd), c.Workspace),
		user:     hostUser(),
		isRoot:   os.Geteuid() == 0,
		search:   searchPath(c.Environ),
		writable: append([]string{c.Workspace}, c.Writable...),
	}
	return p, nil
}

// Close releases the workspace.
func (p *Policy) Close() error { return p.root.Close() }

// User is whom approved programs run as.
func (p *Policy) User() string { return p.user }

func hostUser() string {
	uid := strconv.Itoa(os.Geteuid())
	if u, err := user.LookupId(uid); err == nil {
		return u.Username
	}
	return "uid " + uid
}

// searchPath returns the absolute directories of PATH. A relative entry would mean
// a directory the sandbox can write, so it is left out.
func searchPath(environ []string) []string {
	var dirs []string
	for _, e := range environ {
		value, ok := strings.CutPrefix(e, "PATH=")
		if !ok {
			continue
		}
		dirs = nil // the last PATH counts
		for _, d := range filepath.SplitList(value) {
			if filepath.IsAbs(d) {
				dirs = append(dirs, d)
			}
		}
	}
	return dirs
}

// CheckArgv refuses vectors that are over a limit or cannot be executed.
func CheckArgv(argv []string) error {
	if len(argv) == 0 || argv[0] == "" {
		return refuse("it names no program")
	}
	if len(argv) > escalate.MaxArgs {
		return refuse("it has %d arguments, at most %d are allowed", len(argv), escalate.MaxArgs)
	}
	total := 0
	for i, a := range argv {
		total += len(a)
		switch {
		case len(a) > escalate.MaxArgBytes:
			return refuse("argument %d has %d bytes, at most %d are allowed", i, len(a), escalate.MaxArgBytes)
		case !utf8.ValidString(a):
			return refuse("argument %d is not UTF-8", i)
		case strings.ContainsRune(a, 0):
			return refuse("argument %d contains a zero byte", i)
		}
	}
	if total > escalate.MaxArgvBytes {
		return refuse("its arguments have %d bytes, at most %d are allowed", total, escalate.MaxArgvBytes)
	}
	return nil
}

// CheckWhy refuses a justification that cannot be shown.
func CheckWhy(why string) error {
	switch {
	case len(why) > escalate.MaxWhyBytes:
		return refuse("the justification has %d bytes, at most %d are allowed", len(why), escalate.MaxWhyBytes)
	case !utf8.ValidString(why), strings.ContainsRune(why, 0):
		return refuse("the justification is not plain UTF-8 text")
	}
	return nil
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrRefused, fmt.Sprintf(format, args...))
}

// Relative returns the asker's directory relative to the workspace.
func (p *Policy) Relative(guestDir string) (string, error) {
	if !utf8.ValidString(guestDir) || strings.ContainsRune(guestDir, 0) || len(guestDir) > unix.PathMax {
		return "", refuse("its working directory is not a path")
	}
	if !path.IsAbs(guestDir) {
		return "", refuse("its working directory %q is not absolute", guestDir)
	}
	// Clean cannot leave the workspace: it is followed by the prefix check, and
	// links are judged on the host when the directory is opened.
	dir := path.Clean(guestDir)
	if dir == p.WorkspaceGuest {
		return ".", nil
	}
	rel, ok := strings.CutPrefix(dir, strings.TrimSuffix(p.WorkspaceGuest, "/")+"/")
	if !ok {
		return "", refuse("its working directory %s is outside the workspace; ask from inside %s", guestDir, p.WorkspaceGuest)
	}
	return rel, nil
}

// openDir opens a directory of the workspace and returns it with its real path.
// Links are followed as long as they stay inside.
func (p *Policy) openDir(rel string) (*os.File, string, error) {
	fd, err := openBeneath(p.root, rel, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, "", refuse("its working directory %s cannot be used on the host: %v", path.Join(p.WorkspaceGuest, rel), err)
	}
	dir := os.NewFile(uintptr(fd), rel)
	real, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
	if err == nil && !within(real, p.Workspace) {
		err = errors.New("it is not inside the workspace")
	}
	if err != nil {
		dir.Close()
		return nil, "", refuse("its working directory %s cannot be used on the host: %v", path.Join(p.WorkspaceGuest, rel), err)
	}
	return dir, real, nil
}

// openBeneath opens rel without ever leaving root, and without waiting: a FIFO or
// a device planted there opens at once and is refused by its kind.
func openBeneath(root *os.File, rel string, flags int, resolve uint64) (int, error) {
	const attempts = 64
	how := &unix.OpenHow{
		Flags:   uint64(flags) | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | resolve,
	}
	var err error
	for range attempts { // EAGAIN: something was renamed while the path was walked
		var fd int
		if fd, err = unix.Openat2(int(root.Fd()), rel, how); err == nil {
			return fd, nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR) {
			break
		}
	}
	return -1, err
}

// within reports whether p is dir or lies in it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
