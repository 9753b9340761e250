package image

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
)

const (
	builtTag    = "lazaret"
	buildSteps  = 9 // lines mmdebstrap announces its steps with
	keptLines   = 12
	buildGrace  = 20 * time.Second // for mmdebstrap to remove its temporary directory
	textGrace   = time.Second
	guestPath   = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	keyringPath = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// packages are what an agent's shell needs and cannot well do without; everything
// else is an apt-get install away, inside.
var packages = []string{"bash", "ca-certificates", "curl", "git", "iproute2", "less", "procps", "python3", "unzip", "vim-tiny", "xz-utils"}

// trimmed are paths dpkg leaves out, in the image and of what is installed later.
// Licences stay.
var trimmed = []string{
	"path-exclude=/usr/share/man/*",
	"path-exclude=/usr/share/info/*",
	"path-exclude=/usr/share/doc/*",
	"path-include=/usr/share/doc/*/copyright",
	"path-exclude=/usr/share/locale/*",
}

// anonymise empties what mmdebstrap copied from this host; a sandbox is given its
// own. The files stay, to be mounted over.
const anonymise = `for f in hostname resolv.conf; do rm -f "$1/etc/$f" && : >"$1/etc/$f" && chmod 644 "$1/etc/$f" || exit 1; done`

// BuildOptions say where the built-in image goes.
type BuildOptions struct {
	Output   string // directory of the image layout; made, must not exist or be empty
	IDs      runtime.IDs
	Progress Progress // StageBuild counts steps, not bytes
}

// Build makes the built-in image with the host's mmdebstrap and writes it as an
// OCI layout. It returns the manifest's digest. On error nothing is left.
func Build(ctx context.Context, o BuildOptions) (digest string, err error) {
	if o.Progress == nil {
		o.Progress = func(string, int64, int64) {}
	}
	entries, err := os.ReadDir(o.Output)
	if err == nil && len(entries) > 0 {
		return "", &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("directory %q is not empty", o.Output), Fix: "give a new directory"}
	}
	existed := err == nil
	r, err := newRecipe(o.IDs)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			removeOutput(o.Output, existed)
		}
	}()
	return r.run(ctx, o)
}

// removeOutput takes back a half-written layout and leaves the directory itself
// when it was there before.
func removeOutput(dir string, existed bool) {
	if !existed {
		os.RemoveAll(dir)
		return
	}
	for _, name := range []string{"blobs", "index.json", "oci-layout"} {
		os.RemoveAll(filepath.Join(dir, name))
	}
}

// recipe is one way to run mmdebstrap on this host.
type recipe struct {
	program string
	mode    string
	base    base
	epoch   time.Time
}

func newRecipe(ids runtime.IDs) (recipe, error) {
	program, err := proc.LookPath("mmdebstrap")
	if err != nil {
		return recipe{}, missing("the built-in image is made with mmdebstrap, which is not installed", "mmdebstrap")
	}
	if _, err := os.Stat(keyringPath); err != nil {
		return recipe{}, missing(fmt.Sprintf("the keys Debian signs packages with are missing: %s", keyringPath), "debian-archive-keyring")
	}
	mode, err := buildMode(ids.Mode)
	if err != nil {
		return recipe{}, err
	}
	return recipe{program: program, mode: mode, base: hostBase(), epoch: time.Now().UTC().Truncate(24 * time.Hour)}, nil
}

// buildMode says how mmdebstrap gets to write files of many owners.
func buildMode(m runtime.Mode) (string, error) {
	switch m {
	case runtime.ModeRoot:
		return "root", nil
	case runtime.ModeSubordinate:
		return "unshare", nil
	}
	for _, tool := range []string{"fakechroot", "fakeroot"} {
		if _, err := proc.LookPath(tool); err != nil {
			return "", missing("this account has no subordinate ids, and without them the built-in image needs fakechroot and fakeroot", "fakechroot fakeroot")
		}
	}
	return "fakechroot", nil
}

func missing(message, packages string) error {
	return &fault.Error{
		Kind: fault.Host, Message: message,
		Fix: "sudo apt-get install " + packages + "\nor name another image, for example oci:DIR or registry.example/name:tag",
	}
}

func (r recipe) args() []string {
	args := []string{
		"mmdebstrap", "--mode=" + r.mode, "--variant=minbase", "--format=tar", "--architectures=" + platformArch,
		"--keyring=" + keyringPath, "--include=" + strings.Join(packages, ","),
	}
	for _, opt := range trimmed {
		args = append(args, "--dpkgopt="+opt)
	}
	args = append(args, "--customize-hook="+anonymise, r.base.suite, "-")
	return append(args, r.base.lines()...)
}

func (r recipe) env() []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive",
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.epoch.Unix(), 10),
		// The temporary root must lie where mapped users can go, so not below $HOME.
		"TMPDIR=" + tempDir(),
	}
	return append(env, proxies()...)
}

func tempDir() string {
	if dir := os.Getenv("TMPDIR"); dir != "" {
		return dir
	}
	return "/var/tmp"
}

// run pipes mmdebstrap's archive into a layout.
func (r recipe) run(ctx context.Context, o BuildOptions) (string, error) {
	archive, archiveOut, err := os.Pipe()
	if err != nil {
		return "", fmt.Errorf("make pipe: %w", err)
	}
	defer archive.Close()
	text, textOut, err := os.Pipe()
	if err != nil {
		archiveOut.Close()
		return "", fmt.Errorf("make pipe: %w", err)
	}
	defer text.Close()
	p, err := proc.Start(proc.Spec{
		Path: r.program, Args: r.args(), Env: r.env(), Dir: "/", Setpgid: true,
		Files: []*os.File{nil, archiveOut, textOut},
	})
	archiveOut.Close()
	textOut.Close()
	if err != nil {
		return "", fmt.Errorf("start mmdebstrap: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { endBuild(p, archive) })
	defer stop()
	said := make(chan []string, 1) // one value: the last lines
	go func() { said <- follow(text, o.Progress) }()

	digest, writeErr := r.write(o.Output, archive)
	archive.Close() // a failed writer must not leave mmdebstrap waiting
	<-p.Done()
	return digest, r.judge(ctx, p.Exit(), lastWords(said, text), writeErr)
}

// lastWords waits for the end of mmdebstrap's text, but not for ever: a program
// it left behind may hold the pipe.
func lastWords(said <-chan []string, text io.Closer) []string {
	timer := time.NewTimer(textGrace)
	defer timer.Stop()
	select {
	case lines := <-said:
		return lines
	case <-timer.C:
		text.Close()
		return <-said
	}
}

func (r recipe) judge(ctx context.Context, exit proc.Exit, lines []string, writeErr error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case exit.Status() != 0 && errors.Is(writeErr, unix.ENOSPC), exit.Status() == 0 && writeErr != nil:
		return writeErr
	case exit.Status() != 0:
		return &fault.Error{
			Kind:    fault.Image,
			Message: fmt.Sprintf("mmdebstrap could not build the image (%s)", exit),
			Err:     errors.New(strings.Join(lines, "\n  ")),
			Fix:     "see whether this host reaches its Debian mirror and " + tempDir() + " has about 1 GiB free and allows device files and programs,\nor name another image",
		}
	}
	return nil
}

// write stores the archive with the list of packages in it.
func (r recipe) write(dir string, archive io.Reader) (string, error) {
	list := newPackageList()
	labels := map[string]string{"dev.lazaret.suite": r.base.suite}
	digest, err := WriteLayout(dir, LayoutSpec{
		Tag: builtTag, Created: r.epoch, Env: []string{guestPath}, Labels: labels,
		late: func() { labels["dev.lazaret.packages"] = list.finish() },
	}, io.TeeReader(archive, list))
	list.finish()
	return digest.String(), err
}

// endBuild asks mmdebstrap to clean up and end, and insists after a while.
func endBuild(p *proc.Process, archive *os.File) {
	_ = p.Signal(unix.SIGTERM)
	archive.Close()
	timer := time.NewTimer(buildGrace)
	defer timer.Stop()
	select {
	case <-p.Done():
	case <-timer.C:
		_ = p.Signal(unix.SIGKILL)
	}
}

// follow reports mmdebstrap's steps and returns its last lines, printable.
func follow(r io.Reader, progress Progress) []string {
	var last []string
	steps := int64(0)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 4096), 64<<10)
	for lines.Scan() {
		line := printable(lines.Text())
		if line == "" {
			continue
		}
		if strings.HasPrefix(line, "I: ") {
			steps = min(steps+1, buildSteps)
			progress(StageBuild, steps, buildSteps)
		}
		if last = append(last, line); len(last) > keptLines {
			last = last[1:]
		}
	}
	_, _ = io.Copy(io.Discard, r) // past an endless line
	return last
}
