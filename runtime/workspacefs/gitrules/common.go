package gitrules

import "strings"

const whyOther = "another work tree's own"

// commonDirs are the directories of a repository that all its work trees share, as
// gitrepository-layout(5) has them. "modules" is none: each work tree has its own.
var commonDirs = map[string]Place{
	"objects": Objects, "refs": CommonRefs, "logs": CommonLogs, "info": CommonInfo, "worktrees": OtherTrees,
	"lost-found": Free, "lfs": Free,
}

// commonFiles are the files of that sort.
var commonFiles = map[string]bool{"packed-refs": true, "packed-refs.new": true, "shallow": true, "gc.pid": true}

// inCommon is inTop without what the repository's main work tree has of its own.
func inCommon(name string, kind Kind) rule {
	r := inTop(Main, name, kind)
	place, shared := commonDirs[name]
	switch {
	case r.class != Shared:
		return r
	case r.kind == Dir && shared:
		r.place = place
		return r
	case r.kind == File && (commonFiles[strings.TrimSuffix(name, ".lock")] || temporary(name, "shallow_")):
		return r
	}
	return others(r.kind)
}

func inCommonInfo(name string) rule {
	if r := inInfo(name); r.why != whyState {
		return r
	}
	return others(File)
}

func inCommonRefs(name string, kind Kind) rule {
	if ownRefs(name) {
		return others(kind)
	}
	return inRefs(name, kind)
}

func inCommonLogs(name string, kind Kind) rule {
	switch {
	case name == "refs":
		return rule{kind: Dir, class: Shared, place: CommonLogRefs, why: whyLogs}
	case strings.TrimSuffix(name, ".lock") == "HEAD":
		return others(File)
	}
	return rule{}
}

func inCommonLogRefs(name string, kind Kind) rule {
	if ownRefs(name) {
		return others(kind)
	}
	return find(Logs, name, kind)
}

// ownRefs reports whether each work tree has references of its own below refs/name.
func ownRefs(name string) bool {
	return strings.EqualFold(name, "bisect") || strings.EqualFold(name, "rewritten") || strings.EqualFold(name, "worktree")
}

// others is the rule for what belongs to another work tree.
func others(kind Kind) rule { return rule{kind: kind, class: ReadOnly, why: whyOther} }

// otherTree decides about an entry of worktrees that is not the workspace's.
func otherTree(host Kind) Decision {
	if host == None {
		return container(host)
	}
	return deny(host, whyOther)
}
