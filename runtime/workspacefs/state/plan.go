package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// Bounds of one acceptance.
const (
	maxPieces  = 500_000
	maxAccept  = 16 << 30 // bytes of all files
	maxPreview = 8 << 10
)

// ErrUnreadable is a file that another user of the sandbox owns: a process in the
// sandbox's user namespace can read it.
var ErrUnreadable = errors.New("belongs to another user of the sandbox")

// Refusal is something that is not accepted, with what to do instead.
type Refusal struct {
	Path, Reason, Fix string
}

func (r *Refusal) Error() string { return fmt.Sprintf("%q is not accepted: %s", r.Path, r.Reason) }

func refuse(at, reason, fix string) error { return &Refusal{Path: at, Reason: reason, Fix: fix} }

// Type is what a Piece is.
type Type string

// The types.
const (
	File Type = "file" // copied; Size and Sum must be what they were
	Text Type = "text" // written from the Piece itself: checked or rewritten content
	Dir  Type = "directory"
	Link Type = "link"
)

// Piece is one file, directory or link to be made. Path is relative to the item's.
// Names are bytes: JSON would not carry those that are not UTF-8 as strings.
type Piece struct {
	Path   []byte
	Type   Type
	Exec   bool
	Size   int64  `json:",omitempty"`
	Sum    []byte `json:",omitempty"` // SHA-256
	Target []byte `json:",omitempty"`
	Text   []byte `json:",omitempty"`
}

// ItemKind is what is accepted as a whole.
type ItemKind string

// The kinds of item.
const (
	FileItem ItemKind = "file"
	TreeItem ItemKind = "directory"
	GitItem  ItemKind = "git directory"
	RuleItem ItemKind = "rule file"
)

// Vetted is what became of one git directory.
type Vetted struct {
	Path    []byte // relative to the item's
	Config  string // the configuration it gets
	Dropped []string
}

// Item is one path to accept: exactly what Apply makes of it.
type Item struct {
	Path     []byte
	Kind     ItemKind
	Pieces   []Piece
	Vetted   []Vetted
	Parents  [][]byte // directories the workspace lacks on the way
	Replaces bool     // a file of the host
	Bytes    int64
	Preview  []byte // of one small file
	Was      []byte // of a rule file: what is in force
	Removal  bool   // of a rule file: the sandbox removed it
}

// Options decide what is refused.
type Options struct {
	Replace bool // a file of the host may be replaced
	Running bool // the Domain runs: its sandbox may use what is held
	// Progress is called now and then with the bytes read or written; it may be nil.
	Progress func(bytes int64)
}

// Plan looks at what is held at the given path, relative to the workspace. Errors:
// Refusal, ErrUnreadable, and the context's.
func Plan(ctx context.Context, p Place, at string, o Options) (*Item, error) {
	if err := checkName(at); err != nil {
		return nil, err
	}
	st, err := statBelow(p.Store, heldName+"/"+at)
	if errors.Is(err, fs.ErrNotExist) {
		return planRule(p, at, o)
	}
	if err != nil {
		return nil, unreadable(at, err)
	}
	pl := planner{ctx: ctx, options: o, item: &Item{Path: []byte(at)}}
	if err := pl.destination(p.Tree, at); err != nil {
		return nil, err
	}
	if err := pl.source(p.Store, at, st); err != nil {
		return nil, err
	}
	return pl.item, nil
}

// checkName refuses paths that are never accepted, whatever is held there.
func checkName(at string) error {
	if !journal.ValidPath(at) {
		return refuse(at, "it is no path below the workspace", "give paths as lazaret state held prints them")
	}
	if at == "lazaret.toml" {
		return refuse(at, "it is Lazaret's own configuration of this workspace", "write it yourself, then lazaret config trust")
	}
	parts := strings.Split(at, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, Temporary) {
			return refuse(at, "the name is kept for what lazaret itself writes", "give it another name inside")
		}
		if strings.EqualFold(part, ".git") && (i < len(parts)-1 || part != ".git") {
			return refuse(at, "it lies in a git directory", "do the same git operation on the host")
		}
	}
	return nil
}

type planner struct {
	ctx     context.Context
	options Options
	item    *Item
}

// destination looks at where the item goes.
func (pl *planner) destination(tree *os.File, at string) error {
	dir, name := split(at)
	for d := dir; d != ""; d, _ = split(d) {
		st, err := statBelow(tree, d)
		if err == nil && kindOf(st) != unix.S_IFDIR || errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
			return refuse(at, fmt.Sprintf("%q in the workspace is no directory, or is reached through a link", d), "move it away, or accept into a plain directory")
		}
		if errors.Is(err, fs.ErrNotExist) {
			pl.item.Parents = append(pl.item.Parents, []byte(d))
		} else if err != nil {
			return err
		}
	}
	slices.Reverse(pl.item.Parents)
	if err := completesGit(tree, dir, name); err != nil {
		return err
	}
	st, err := statBelow(tree, at)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil
	case err != nil:
		return err
	case kindOf(st) != unix.S_IFREG:
		return refuse(at, "the workspace has a directory, a link or a special file of that name", "move it away first")
	case !pl.options.Replace:
		return refuse(at, "the workspace has a file of that name", "compare the two, then give --replace, or move the file away")
	}
	pl.item.Replaces = true
	return nil
}

// completesGit refuses what would make a bare repository of a directory, or change
// one that is: git takes any directory with these three for its own.
func completesGit(tree *os.File, dir, name string) error {
	marks := []string{"HEAD", "objects", "refs"}
	for d, below := dir, name; ; {
		found := 0
		for _, m := range marks {
			if _, err := statBelow(tree, join(d, m)); err == nil {
				found++
			}
		}
		if found == len(marks) || slices.Contains(marks, below) && found > 0 {
			return refuse(join(dir, name), "it would become part of a git directory", "make the repository on the host: git init --bare, git clone")
		}
		if d == "" {
			return nil
		}
		d, below = split(d)
	}
}

// source looks at what is held.
func (pl *planner) source(store *os.File, at string, st unix.Stat_t) error {
	parent, name := split(heldName + "/" + at)
	dir, err := openBelow(store, parent, dirFlags)
	if err != nil {
		return unreadable(at, err)
	}
	defer dir.Close()
	switch {
	case kindOf(st) == unix.S_IFREG && name == ".git":
		return refuse(at, "it points to a git directory elsewhere", "make the worktree or submodule on the host: git worktree add, git submodule update")
	case kindOf(st) == unix.S_IFREG:
		pl.item.Kind = FileItem
		return pl.single(dir, name)
	case kindOf(st) != unix.S_IFDIR:
		return refuse(at, "it is a link or a special file", "copy what is meant into a plain file inside")
	case pl.item.Replaces:
		return refuse(at, "the workspace has a file where a directory is held", "move the file away first")
	case name == ".git":
		pl.item.Kind = GitItem
		return pl.git(dir, name, "")
	case pl.options.Running:
		return refuse(at, "the Domain is running, and its sandbox may be using the directory", "end its sessions first, or accept single files of it")
	}
	pl.item.Kind = TreeItem
	return pl.tree(dir, name, "", 0)
}

// single plans an item that is one file.
func (pl *planner) single(dir *os.File, name string) error {
	if err := pl.file(dir, name, ""); err != nil {
		return err
	}
	if pl.item.Bytes <= maxPreview {
		f, err := openRegular(dir, name)
		if err != nil {
			return pl.wrap("", err)
		}
		defer f.Close()
		text, err := io.ReadAll(io.LimitReader(f, maxPreview))
		if err != nil {
			return pl.wrap("", err)
		}
		if sum := sha256.Sum256(text); slices.Equal(sum[:], pl.item.Pieces[0].Sum) {
			pl.item.Preview = text
		}
	}
	return nil
}

// tree plans a directory and everything below it.
func (pl *planner) tree(dir *os.File, name, rel string, depth int) error {
	if depth > maxDepth {
		return refuse(pl.at(rel), "its directories are nested too deeply", "move the inner ones up inside")
	}
	sub, err := openBelow(dir, name, dirFlags)
	if err != nil {
		return pl.wrap(rel, err)
	}
	defer sub.Close()
	if err := pl.add(Piece{Path: []byte(rel), Type: Dir}); err != nil {
		return err
	}
	list, err := names(sub)
	if err != nil {
		return pl.wrap(rel, err)
	}
	if slices.Contains(list, "HEAD") && (slices.Contains(list, "objects") || slices.Contains(list, "refs")) {
		return refuse(pl.at(rel), "it is a git directory under another name", "make the repository on the host: git init --bare, git clone")
	}
	slices.Sort(list)
	for _, entry := range list {
		if err := pl.entry(sub, entry, rel, depth); err != nil {
			return err
		}
	}
	return nil
}

func (pl *planner) entry(dir *os.File, name, rel string, depth int) error {
	at := join(rel, name)
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return pl.wrap(at, err)
	}
	kind := kindOf(st)
	switch {
	case strings.EqualFold(name, ".git") && (name != ".git" || kind != unix.S_IFDIR):
		return refuse(pl.at(at), "it is, or points to, a git directory", "remove it inside, or make the repository on the host")
	case name == ".git":
		return pl.git(dir, name, at)
	case kind == unix.S_IFDIR:
		return pl.tree(dir, name, at, depth+1)
	case kind == unix.S_IFLNK:
		return pl.link(dir, name, at)
	case kind == unix.S_IFREG:
		return pl.file(dir, name, at)
	}
	return refuse(pl.at(at), "it is a FIFO, a socket or a device", "remove it inside")
}

// file plans one regular file by its digest.
func (pl *planner) file(dir *os.File, name, rel string) error {
	f, err := openRegular(dir, name)
	if err != nil {
		return pl.wrap(rel, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return pl.wrap(rel, err)
	}
	tooMuch := refuse(pl.at(rel), fmt.Sprintf("there are more than %d GiB", maxAccept>>30), "make it smaller inside, or copy it by hand after looking at it")
	if pl.item.Bytes+info.Size() > maxAccept {
		return tooMuch
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(pl.reader(f), maxAccept-pl.item.Bytes+1))
	if err != nil {
		return pl.wrap(rel, err)
	}
	if pl.item.Bytes+n > maxAccept {
		return tooMuch
	}
	pl.item.Bytes += n
	return pl.add(Piece{Path: []byte(rel), Type: File, Exec: info.Mode()&0o100 != 0, Size: n, Sum: hash.Sum(nil)})
}

// link plans a symbolic link if it stays in the item. A target in clean form climbs
// first and descends then, through directories and links that stay themselves, so
// its words alone decide.
func (pl *planner) link(dir *os.File, name, rel string) error {
	buf := make([]byte, maxTarget+1)
	n, err := unix.Readlinkat(int(dir.Fd()), name, buf)
	if err != nil {
		return pl.wrap(rel, err)
	}
	target := string(buf[:n])
	parent, _ := split(rel)
	led := path.Join("/item", parent, target)
	switch {
	case n > maxTarget, path.IsAbs(target), target == "", path.Clean(target) != target, !staysInItem(parent, target):
		return refuse(pl.at(rel), fmt.Sprintf("it is a link that leaves %q: %q", pl.item.Path, target), "replace it inside by what it points to")
	case strings.Contains(strings.ToLower(led)+"/", "/.git/"):
		return refuse(pl.at(rel), "it is a link into a git directory", "remove it inside")
	}
	return pl.add(Piece{Path: []byte(rel), Type: Link, Target: []byte(target)})
}

const maxTarget = 4095

// staysInItem reports whether target, seen from the directory parent of the item,
// climbs no higher than the item.
func staysInItem(parent, target string) bool {
	levels := 0
	if parent != "" {
		levels = strings.Count(parent, "/") + 1
	}
	for part := range strings.SplitSeq(target, "/") {
		if part == ".." {
			levels--
		}
		if levels < 0 {
			return false
		}
	}
	return true
}

func (pl *planner) add(p Piece) error {
	if len(pl.item.Pieces) >= maxPieces {
		return refuse(string(pl.item.Path), fmt.Sprintf("it has more than %d entries", maxPieces), "accept parts of it")
	}
	pl.item.Pieces = append(pl.item.Pieces, p)
	return pl.ctx.Err()
}

func (pl *planner) at(rel string) string {
	if rel == "" {
		return string(pl.item.Path)
	}
	return join(string(pl.item.Path), rel)
}

func (pl *planner) wrap(rel string, err error) error {
	if errors.Is(err, errNotOwn) {
		return refuse(pl.at(rel), err.Error(), "copy it to a file of its own inside (cp FILE COPY && mv COPY FILE)")
	}
	return unreadable(pl.at(rel), err)
}

// unreadable tells another user's file from other failures.
func unreadable(at string, err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%q: %w", at, ErrUnreadable)
	}
	return fmt.Errorf("look at %q: %w", at, err)
}

var errNotOwn = errors.New("it is no regular file, or has a second name (a hard link)")

// openRegular opens a regular file that has one name. Errors: errNotOwn.
func openRegular(dir *os.File, name string) (*os.File, error) {
	f, err := openBelow(dir, name, fileFlags)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENXIO) {
		return nil, errNotOwn
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		f.Close()
		return nil, err
	}
	if kindOf(st) != unix.S_IFREG || st.Nlink != 1 {
		f.Close()
		return nil, errNotOwn
	}
	return f, nil
}

// reader reads f until the context ends and tells the progress.
func (pl *planner) reader(f io.Reader) io.Reader { return &meter{pl.ctx, f, pl.options.Progress} }

type meter struct {
	ctx  context.Context
	from io.Reader
	tell func(int64)
}

func (m *meter) Read(b []byte) (int, error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := m.from.Read(b)
	if m.tell != nil && n > 0 {
		m.tell(int64(n))
	}
	return n, err
}
