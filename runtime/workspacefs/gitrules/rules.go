package gitrules

import "strings"

// A rule is what one name may be.
type rule struct {
	kind   Kind // File or Dir
	class  Class
	place  Place // of a directory
	vetted bool
	why    string
}

// Reasons. "unknown" is deliberately vague: the allow-list needs no reason to refuse.
const (
	whyUnknown = "not on the list of what git writes at work"
	whyLink    = "links and special files have no place in a git directory"
	whyConfig  = "git configuration"
	whyHooks   = "git hooks"
	whyPointer = "git directory pointer"
	whyObjects = "git objects"
	whyRefs    = "git references"
	whyIndex   = "git index"
	whyState   = "state of a git operation"
	whyMessage = "git message"
	whyTodo    = "git to-do lists can hold commands"
	whyRerere  = "rerere reads and writes whatever path its records name"
	whyBisect  = "git bisect has run what its records say"
	whyLogs    = "git logs"
	whyModule  = "a new git directory"
)

// top holds what a git directory has under fixed names.
var top = map[string]rule{
	"objects":              {kind: Dir, class: Shared, place: Objects, why: whyObjects},
	"refs":                 {kind: Dir, class: Shared, place: Refs, why: whyRefs},
	"logs":                 {kind: Dir, class: Shared, place: Logs, why: whyLogs},
	"info":                 {kind: Dir, class: Shared, place: Info, why: whyState},
	"lost-found":           {kind: Dir, class: Shared, place: Free, why: whyObjects},
	"lfs":                  {kind: Dir, class: Shared, place: Free, why: "large files"},
	"NOTES_MERGE_WORKTREE": {kind: Dir, class: Shared, place: Free, why: whyState},
	"HEAD":                 {kind: File, class: Shared, vetted: true, why: whyRefs},
	"ORIG_HEAD":            {kind: File, class: Shared, vetted: true, why: whyRefs},
	"CHERRY_PICK_HEAD":     {kind: File, class: Shared, vetted: true, why: whyRefs},
	"REVERT_HEAD":          {kind: File, class: Shared, vetted: true, why: whyRefs},
	"REBASE_HEAD":          {kind: File, class: Shared, vetted: true, why: whyRefs},
	"MERGE_HEAD":           {kind: File, class: Shared, why: whyState},
	"FETCH_HEAD":           {kind: File, class: Shared, why: whyState},
	"MERGE_MODE":           {kind: File, class: Shared, why: whyState},
	"MERGE_AUTOSTASH":      {kind: File, class: Shared, why: whyState},
	"AUTO_MERGE":           {kind: File, class: Shared, why: whyState},
	"NOTES_MERGE_PARTIAL":  {kind: File, class: Shared, why: whyState},
	"NOTES_MERGE_REF":      {kind: File, class: Shared, why: whyState},
	"MERGE_MSG":            {kind: File, class: Shared, why: whyMessage},
	"SQUASH_MSG":           {kind: File, class: Shared, why: whyMessage},
	"COMMIT_EDITMSG":       {kind: File, class: Shared, why: whyMessage},
	"TAG_EDITMSG":          {kind: File, class: Shared, why: whyMessage},
	"NOTES_EDITMSG":        {kind: File, class: Shared, why: whyMessage},
	"ADD_EDIT.patch":       {kind: File, class: Shared, why: whyMessage},
	"addp-hunk-edit.diff":  {kind: File, class: Shared, why: whyMessage},
	"index":                {kind: File, class: Shared, vetted: true, why: whyIndex},
	"packed-refs":          {kind: File, class: Shared, why: whyRefs},
	"packed-refs.new":      {kind: File, class: Shared, why: whyRefs},
	"shallow":              {kind: File, class: Shared, why: whyObjects},
	"gc.pid":               {kind: File, class: Shared, why: whyState},
	"gc.log":               {kind: File, class: Held, why: "the host's git prints it"},
	"rebase-merge":         {kind: Dir, class: Held, why: whyTodo},
	"rebase-apply":         {kind: Dir, class: Held, why: whyTodo},
	"sequencer":            {kind: Dir, class: Held, why: whyTodo},
	"rebased-patches":      {kind: File, class: Held, why: whyTodo},
	"MERGE_RR":             {kind: File, class: Held, why: whyRerere},
	"rr-cache":             {kind: Dir, class: Held, why: whyRerere},
	"worktrees":            {kind: Dir, class: Shared, place: Worktrees, why: whyModule},
	"modules":              {kind: Dir, class: Shared, place: Modules, why: whyModule},
}

// sealed gives reasons for what is refused, where there is a better one than whyUnknown.
var sealed = map[string]string{
	"config": whyConfig, "config.lock": whyConfig, "config.worktree": whyConfig, "config.worktree.lock": whyConfig,
	"hooks": whyHooks, "commondir": whyPointer, "gitdir": whyPointer,
	"attributes": whyConfig, "exclude": whyConfig, "grafts": whyConfig,
	"alternates": whyPointer, "http-alternates": whyPointer, "branches": whyConfig, "remotes": whyConfig,
}

// find returns the rule for a name of a place, or none when the name is not listed.
func find(in Place, name string, kind Kind) rule {
	var r rule
	switch in {
	case Main, Linked:
		r = inTop(in, name, kind)
	case Common:
		r = inCommon(name, kind)
	case CommonInfo:
		r = inCommonInfo(name)
	case CommonRefs:
		r = inCommonRefs(name, kind)
	case CommonLogs:
		r = inCommonLogs(name, kind)
	case CommonLogRefs:
		r = inCommonLogRefs(name, kind)
	case Objects:
		r = inObjects(name, kind)
	case ObjectsInfo:
		r = inObjectsInfo(name, kind)
	case Info:
		r = inInfo(name)
	case Refs:
		r = inRefs(name, kind)
	case Free, Logs:
		r = rule{kind: kind, class: Shared, place: Free, why: whyObjects}
	case Aside:
		r = rule{kind: kind, class: Held, place: Aside, why: whyTodo}
	}
	if r.kind != kind {
		return rule{}
	}
	return r
}

func inTop(in Place, name string, kind Kind) rule {
	if base, ok := strings.CutSuffix(name, ".lock"); ok && kind == File {
		r := inTop(in, base, kind)
		r.vetted = false
		return r
	}
	r, listed := top[name]
	switch {
	case in == Linked && (name == "objects" || name == "packed-refs" || name == "worktrees"):
		return rule{}
	case listed:
		return r
	case strings.HasPrefix(name, "BISECT_"):
		return rule{kind: File, class: Held, why: whyBisect}
	case temporary(name, "shallow_"):
		return rule{kind: File, class: Shared, why: whyObjects}
	case numbered(name, "index.stash."), numbered(name, "next-index-"):
		return rule{kind: File, class: Shared, why: whyIndex}
	}
	return rule{}
}

func inObjects(name string, kind Kind) rule {
	r := rule{kind: kind, class: Shared, why: whyObjects}
	switch {
	case kind == File && (strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, "bitmap-ref-tips_")):
	case kind == File && (name == "maintenance.lock" || name == "schedule.lock"):
	case kind == Dir && name == "info":
		r.place = ObjectsInfo
	case kind == Dir && (name == "pack" || len(name) == 2 && hex(name)):
		r.place = Free
	case kind == Dir && (strings.HasPrefix(name, "tmp_objdir-") || strings.HasPrefix(name, "incoming-")):
		r.place = Objects
	default:
		return rule{}
	}
	return r
}

func inObjectsInfo(name string, kind Kind) rule {
	switch {
	case kind == Dir && name == "commit-graphs":
		return rule{kind: Dir, class: Shared, place: Free, why: whyObjects}
	case name == "packs", name == "commit-graph", name == "commit-graph.lock", temporary(name, "packs_"):
		return rule{kind: File, class: Shared, why: whyObjects}
	}
	return rule{}
}

func inInfo(name string) rule {
	switch {
	case name == "refs", name == "refs.lock", temporary(name, "refs_"):
		return rule{kind: File, class: Shared, why: whyRefs}
	case name == "sparse-checkout", name == "sparse-checkout.lock":
		return rule{kind: File, class: Shared, why: whyState}
	}
	return rule{}
}

func inRefs(name string, kind Kind) rule {
	return rule{kind: kind, class: Shared, place: Refs, vetted: kind == File && !strings.HasSuffix(name, ".lock"), why: whyRefs}
}

// temporary reports whether name is prefix and six letters, as mkstemp makes them.
func temporary(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && len(rest) == 6 && !strings.ContainsAny(rest, "./ ")
}

func numbered(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && rest != "" && strings.Trim(rest, "0123456789") == ""
}

func hex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
