package control

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"lazaret.dev/lazaret/internal/domain"
)

// The first argument of the guest binary's two modes.
const (
	ModeInit    = "--guest-init"
	ModeSession = "--guest-session"
)

// GuestBinary is where the guest finds the binary of both modes.
const GuestBinary = "/run/lazaret/bin/lazaret-escalate"

// ErrArguments is returned for arguments no host side of ours would pass.
var ErrArguments = errors.New("malformed guest arguments")

// Init is what the guest init is started with.
type Init struct {
	OpenFiles uint64 // RLIMIT_NOFILE of the init; 0 leaves it
}

// Argv returns the command line of the guest init.
func (o Init) Argv() []string {
	return []string{
		GuestBinary, ModeInit,
		"--open-files=" + strconv.FormatUint(o.OpenFiles, 10),
	}
}

// ParseInit is the inverse of Argv, without the binary and the mode.
func ParseInit(args []string) (o Init, err error) {
	values, rest, err := flags(args, "--open-files=")
	if err != nil {
		return o, err
	}
	if len(rest) != 0 {
		return o, fmt.Errorf("%w: %q is left over", ErrArguments, rest)
	}
	o.OpenFiles, err = number(values[0], 64)
	return o, err
}

// Session is what the session wrapper is started with. It runs as guest root, and
// starts the command as UID and GID; its environment and descriptors 0 to 2 become
// the command's.
type Session struct {
	ID        domain.SessionID
	UID, GID  uint32
	Dir       string // "" keeps the directory the wrapper was started in
	Processes uint32 // bound on the session's tasks, threads included; 0 is none
	OpenFiles uint64 // RLIMIT_NOFILE; 0 leaves it
	Command   []string
}

// Argv returns the command line of the session wrapper.
func (o Session) Argv() []string {
	return append([]string{
		GuestBinary, ModeSession,
		"--id=" + string(o.ID),
		"--uid=" + strconv.FormatUint(uint64(o.UID), 10),
		"--gid=" + strconv.FormatUint(uint64(o.GID), 10),
		"--dir=" + o.Dir,
		"--processes=" + strconv.FormatUint(uint64(o.Processes), 10),
		"--open-files=" + strconv.FormatUint(o.OpenFiles, 10),
		"--",
	}, o.Command...)
}

// ParseSession is the inverse of Argv, without the binary and the mode.
func ParseSession(args []string) (o Session, err error) {
	values, rest, err := flags(args, "--id=", "--uid=", "--gid=", "--dir=", "--processes=", "--open-files=")
	if err != nil {
		return o, err
	}
	if len(rest) < 2 || rest[0] != "--" {
		return o, fmt.Errorf("%w: no command", ErrArguments)
	}
	o.Dir, o.Command = values[3], rest[1:]
	if o.ID, err = domain.ParseSessionID(values[0]); err != nil {
		return o, fmt.Errorf("%w: %w", ErrArguments, err)
	}
	for i, field := range map[int]*uint32{1: &o.UID, 2: &o.GID, 4: &o.Processes} {
		n, err := number(values[i], 32)
		if err != nil {
			return o, err
		}
		*field = uint32(n)
	}
	o.OpenFiles, err = number(values[5], 64)
	return o, err
}

// flags takes one value per name off the front of args, in order.
func flags(args []string, names ...string) (values, rest []string, err error) {
	for i, name := range names {
		if i >= len(args) || !strings.HasPrefix(args[i], name) {
			return nil, nil, fmt.Errorf("%w: %s is missing", ErrArguments, name)
		}
		values = append(values, args[i][len(name):])
	}
	return values, args[len(names):], nil
}

func number(s string, bits int) (uint64, error) {
	n, err := strconv.ParseUint(s, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%w: %q is not a number", ErrArguments, s)
	}
	return n, nil
}
