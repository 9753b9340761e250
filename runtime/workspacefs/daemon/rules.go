package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
	"lazaret.dev/lazaret/runtime/workspacefs/gitindex"
	"lazaret.dev/lazaret/runtime/workspacefs/ignore"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/link"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
	"lazaret.dev/lazaret/runtime/workspacefs/survey"
)

// readRules makes the rules of the workspace from what the host has.
func readRules(r *link.Resources, pins *journal.Pins) (policy *route.Policy, facts survey.Facts, err error) {
	host := tree{r.Host}
	c := route.Config{
		Masks: r.Policy.Masks, Secrets: r.Policy.Secrets, Excludes: r.Policy.GlobalExcludes,
		Pins: loadPins(pins), Read: host.read, Look: host.look,
	}
	if r.Policy.Ignored == runtime.IgnoredShared {
		c.Ignored = route.IgnoredShared
	}
	if facts, err = survey.Workspace(surveyed{host}); err != nil {
		return nil, facts, err
	}
	c.Protected = append(topObeyed(r), facts.Runs...)
	if len(r.GitDirs) == 0 {
		policy, err = route.New(c)
		return policy, facts, err
	}
	outside := tree{r.GitDirs[0]}
	c.Admin = adminOf(r)
	_, err = survey.GitDir(surveyed{outside}, ".")
	if err != nil {
		return nil, facts, err
	}
	for into, file := range map[*[]byte]struct {
		name  string
		limit int64
	}{
		&c.Index:     {path.Join(c.Admin, "index"), gitindex.MaxFile + 1},
		&c.Exclude:   {"info/exclude", ignore.MaxFile + 1},
		&c.GitConfig: {"config", gitconfig.MaxFile},
	} {
		data, err := outside.read(file.name, file.limit)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, facts, err
		}
		*into = data
	}
	policy, err = route.New(c)
	return policy, facts, err
}

// adminOf is the administrative directory of the linked work tree that the workspace
// is, below the repository outside; "" for the repository itself.
func adminOf(r *link.Resources) string {
	const most = 8 << 10
	pointer, err := tree{r.Host}.read(".git", most)
	if err != nil {
		return ""
	}
	at, ok := strings.CutPrefix(strings.TrimRight(string(pointer), "\r\n"), "gitdir: ")
	if !ok {
		return ""
	}
	if !path.IsAbs(at) {
		at = path.Join(r.Workspace, at)
	}
	below, _ := strings.CutPrefix(path.Clean(at), r.Policy.GitDirs[0]+"/")
	if path.IsAbs(below) {
		return ""
	}
	return below
}

// errPins says what to do about pins that cannot be read: without them, what the
// sandbox wrote into an ignore file would pass for the developer's.
func errPins(err error) error {
	return &fault.Error{Kind: fault.Workspace, Message: "the record of the workspace's rule files cannot be read", Err: err,
		Fix: "look at the ignore files of the workspace, then remove the file \"pins\" from the Domain's workspace storage"}
}

// pinnedOutside is how the pins' file calls a git directory outside: the workspace's
// own .git is a file then.
const pinnedOutside = ".git"

func loadPins(pins *journal.Pins) map[string]route.Pin {
	all := map[string]route.Pin{}
	for name, pin := range pins.All() {
		p := route.Pin{Content: pin.Content, Absent: pin.Absent, Guest: pin.By == journal.Guest}
		copy(p.Written[:], pin.Written)
		if pin.Absent {
			p.Content = nil
		}
		all[name] = p
		if below, ok := strings.CutPrefix(name, pinnedOutside+"/"); ok {
			all[route.Outside+"/"+below] = p
		}
	}
	return all
}

// savePins puts what has to outlive the generation into pins.
func savePins(known map[string]route.Pin, pins *journal.Pins) error {
	all := map[string]journal.Pin{}
	for name, pin := range known {
		if below, ok := strings.CutPrefix(name, route.Outside+"/"); ok {
			name = pinnedOutside + "/" + below
		}
		p := journal.Pin{Content: pin.Content, Absent: pin.Absent, By: journal.Host}
		if pin.Guest {
			p.By, p.Written = journal.Guest, append([]byte{}, pin.Written[:]...)
		}
		all[name] = p
	}
	if err := pins.Replace(all); err != nil {
		return fmt.Errorf("keep the workspace's rules: %w", err)
	}
	return nil
}

// storage is the daemon's part of Domain storage.
type storage struct {
	held    *os.File
	journal *journal.Journal
	pins    *journal.Pins
}

func openStorage(store *os.File) (s storage, err error) {
	if s.held, err = makeDir(store, "held"); err != nil {
		return s, err
	}
	if s.journal, err = journal.Open(store); err != nil {
		warn(fmt.Errorf("begin a new journal: %w", err))
	}
	if s.pins, err = journal.OpenPins(store); err != nil {
		return s, errPins(err)
	}
	return s, nil
}
