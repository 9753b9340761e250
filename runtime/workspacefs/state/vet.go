package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/runtime/workspacefs/gitrules"
)

// Bounds of the texts of a git directory, in bytes.
const (
	maxPointer  = 4 << 10 // HEAD, a reference
	maxConfig   = 256 << 10
	maxRefTable = 16 << 20 // packed-refs, shallow
	maxIndex    = 64 << 20
)

// fate is what becomes of one name of a git directory.
type fate uint8

const (
	leave   fate = iota // not taken: git does without, or it makes git run things
	descend             // a directory that is walked
	copied              // copied by its digest
	ref                 // HEAD or a reference, checked
	table               // packed-refs, shallow: checked line by line
	index               // checked for paths
	config              // rewritten
	never               // the git directory is refused
)

var (
	fanName   = expression(`^[0-9a-f]{2}$`)
	looseName = expression(`^[0-9a-f]{38}$|^[0-9a-f]{62}$`)
	packName  = expression(`^pack-[0-9a-f]{40,64}\.(pack|idx|rev|keep)$`)
)

// gitFate decides about one path of a git directory. It is an allow-list: git reads
// more and more files as it grows, and what is not known here stays behind. why is
// the reason of a refusal.
func gitFate(at string, isDir bool) (f fate, why string) {
	top, rest, inner := strings.Cut(at, "/")
	switch top {
	case "HEAD":
		return onlyIf(!inner && !isDir, ref), ""
	case "config":
		return onlyIf(!inner && !isDir, config), ""
	case "packed-refs", "shallow":
		return onlyIf(!inner && !isDir, table), ""
	case "index":
		return onlyIf(!inner && !isDir, index), ""
	case "objects":
		return objectFate(rest, isDir)
	case "refs":
		switch {
		case isDir:
			return onlyIf(!inner || validRefPart(rest), descend), ""
		default:
			return onlyIf(inner && validRef(at), ref), ""
		}
	case "logs":
		switch {
		case isDir:
			return onlyIf(!inner || rest == "refs" || strings.HasPrefix(rest, "refs/") && validRefPart(rest), descend), ""
		default:
			return onlyIf(rest == "HEAD" || validRef(rest), copied), ""
		}
	}
	return leave, ""
}

func onlyIf(ok bool, f fate) fate {
	if ok {
		return f
	}
	return leave
}

func objectFate(at string, isDir bool) (fate, string) {
	dir, name := split(at)
	switch {
	case at == "info/alternates" || at == "info/http-alternates":
		return never, "it takes objects from a place elsewhere (" + name + "); in a clone inside: git repack -a -d, then remove the file"
	case dir == "pack" && strings.HasSuffix(name, ".promisor"):
		return never, "it is a partial clone: git would fetch the rest when it likes"
	case isDir:
		return onlyIf(at == "" || at == "info" || at == "pack" || fanName().MatchString(at), descend), ""
	case fanName().MatchString(dir) && looseName().MatchString(name), dir == "pack" && packName().MatchString(name):
		return copied, ""
	}
	return leave, ""
}

// validRef reports whether name is a reference's, by git-check-ref-format(1) and
// stricter: it begins with "refs/".
func validRef(name string) bool {
	return strings.HasPrefix(name, "refs/") && validRefPart(name) && !strings.HasSuffix(name, ".")
}

func validRefPart(name string) bool {
	if name == "" || len(name) > 1024 || strings.Contains(name, "..") || strings.Contains(name, "@{") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || part[0] == '-' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) })
}

var objectID = expression(`^(?:[0-9a-f]{40}|[0-9a-f]{64})$`)

// checkPointer checks the content of HEAD or of a reference.
func checkPointer(text []byte) error {
	line := strings.TrimRight(string(text), "\n")
	if to, symbolic := strings.CutPrefix(line, "ref: "); symbolic && validRef(to) {
		return nil
	}
	if objectID().MatchString(line) {
		return nil
	}
	return fmt.Errorf("it holds %.80q, which names no object and no reference", line)
}

// checkTable checks packed-refs and shallow.
func checkTable(name string, text []byte) error {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return errors.New("its last line is cut off")
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		id, to, named := strings.Cut(line, " ")
		switch {
		case name == "packed-refs" && (strings.HasPrefix(line, "# ") || objectID().MatchString(strings.TrimPrefix(line, "^"))):
		case name == "packed-refs" && named && objectID().MatchString(id) && validRef(to):
		case name == "shallow" && objectID().MatchString(line):
		default:
			return fmt.Errorf("it has the line %.80q", line)
		}
	}
	return nil
}

// checkIndex refuses an index that would have git write where it should not.
func checkIndex(data []byte, hashSize int) error {
	return gitrules.Vet(gitrules.Main, "index", data, hashSize)
}

// gitPlanner plans one git directory of an item.
type gitPlanner struct {
	*planner
	base   string // relative to the item
	vetted Vetted
	has    map[string]bool
	hash   int // bytes of an object id
}

// git plans the git directory name of dir by the allow-list.
func (pl *planner) git(dir *os.File, name, rel string) error {
	sub, err := openBelow(dir, name, dirFlags)
	if err != nil {
		return pl.wrap(rel, err)
	}
	defer sub.Close()
	g := &gitPlanner{planner: pl, base: rel, has: map[string]bool{}, vetted: Vetted{Path: []byte(rel)}}
	if err := pl.add(Piece{Path: []byte(rel), Type: Dir}); err != nil {
		return err
	}
	if err := g.config(sub); err != nil {
		return err
	}
	if err := g.directory(sub, "", 0); err != nil {
		return err
	}
	for _, part := range []string{"HEAD", "objects", "refs"} {
		if !g.has[part] {
			return refuse(pl.at(rel), "it is no whole git directory: "+part+" is missing", "look at it inside: git status")
		}
	}
	slices.Sort(g.vetted.Dropped)
	pl.item.Vetted = append(pl.item.Vetted, g.vetted)
	return nil
}

// config rewrites the configuration; it says how long object ids are.
func (g *gitPlanner) config(dir *os.File) error {
	at := join(g.base, "config")
	data, err := g.read(dir, "config", maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return refuse(g.at(at), "the git directory has no configuration", "look at it inside: git status")
	}
	if err != nil {
		return g.wrap(at, err)
	}
	safe, err := safeConfig(data)
	if err != nil {
		return refuse(g.at(at), err.Error(), "change it inside, with git config")
	}
	g.hash, g.vetted.Config = safe.hash, safe.text
	for _, name := range safe.dropped {
		g.vetted.Dropped = append(g.vetted.Dropped, "config: "+name)
	}
	return g.text("config", []byte(safe.text))
}

func (g *gitPlanner) text(at string, content []byte) error {
	g.item.Bytes += int64(len(content))
	return g.add(Piece{Path: []byte(join(g.base, at)), Type: Text, Size: int64(len(content)), Text: content})
}

func (g *gitPlanner) read(dir *os.File, name string, limit int64) ([]byte, error) {
	f, err := openRegular(dir, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("it is larger than %d bytes", limit)
	}
	return data, err
}

func (g *gitPlanner) directory(dir *os.File, at string, depth int) error {
	list, err := names(dir)
	if err != nil {
		return g.wrap(join(g.base, at), err)
	}
	slices.Sort(list)
	for _, name := range list {
		if err := g.part(dir, name, join(at, name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (g *gitPlanner) part(dir *os.File, name, at string, depth int) error {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return g.wrap(join(g.base, at), err)
	}
	isDir := kindOf(st) == unix.S_IFDIR
	f, why := gitFate(at, isDir)
	switch {
	case f == never:
		return refuse(g.at(join(g.base, at)), why, "make the repository whole inside, or clone it on the host")
	case f == leave || f == descend && depth > maxDepth:
		return g.drop(at, isDir)
	case !isDir && kindOf(st) != unix.S_IFREG:
		return refuse(g.at(join(g.base, at)), "it is a link or a special file in a git directory", "remove it inside")
	}
	g.has[at] = true
	if f != descend {
		return g.content(f, dir, name, at)
	}
	sub, err := openBelow(dir, name, dirFlags)
	if err != nil {
		return g.wrap(join(g.base, at), err)
	}
	defer sub.Close()
	if err := g.add(Piece{Path: []byte(join(g.base, at)), Type: Dir}); err != nil {
		return err
	}
	return g.directory(sub, at, depth+1)
}

// maxDropped bounds what a report lists.
const maxDropped = 1000

func (g *gitPlanner) drop(at string, isDir bool) error {
	if isDir {
		at += "/"
	}
	if len(g.vetted.Dropped) < maxDropped {
		g.vetted.Dropped = append(g.vetted.Dropped, at)
	}
	return g.ctx.Err()
}

// content plans a file of a git directory.
func (g *gitPlanner) content(f fate, dir *os.File, name, at string) error {
	var err error
	var data []byte
	switch f {
	case config: // planned first
		return nil
	case copied:
		if err := g.file(dir, name, join(g.base, at)); err != nil {
			return err
		}
		g.item.Pieces[len(g.item.Pieces)-1].Exec = false
		return nil
	case ref:
		if data, err = g.read(dir, name, maxPointer); err == nil {
			err = checkPointer(data)
		}
	case table:
		if data, err = g.read(dir, name, maxRefTable); err == nil {
			err = checkTable(name, data)
		}
	case index:
		if data, err = g.read(dir, name, maxIndex); err == nil && checkIndex(data, g.hash) != nil {
			return g.drop(at+" (not sound: git reset makes a new one)", false)
		}
	}
	switch {
	case errors.Is(err, errNotOwn), errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return g.wrap(join(g.base, at), err)
	case err != nil:
		return refuse(g.at(join(g.base, at)), err.Error(), "look at it inside: git fsck")
	}
	return g.text(at, bytes.Clone(data))
}
