package gitrules

// Decide says what the sandbox may do with a name of a directory of the given place.
// host is what the host has there; own is what Domain storage has, or what is about
// to be made.
func Decide(in Place, name string, host, own Kind) Decision {
	kind := host
	if kind == None {
		kind = own
	}
	switch in {
	case Aside:
		return Decision{Class: Held, Why: whyTodo}
	case Worktrees, Modules:
		return container(host)
	case OtherTrees:
		return otherTree(host)
	}
	if kind == None { // a look-up of nothing: what could be made decides
		return nothing(in, name)
	}
	return clash(in, name, host, own, listed(in, name, kind, host))
}

// listed applies the rule for a name, as far as the kind that counts goes.
func listed(in Place, name string, kind, host Kind) Decision {
	r := find(in, name, kind)
	if r.class == Held {
		return Decision{Class: Held, Why: r.why}
	}
	if r.class == 0 || kind == Symlink || kind == Other {
		return refuse(name, host, kind)
	}
	if r.class == ReadOnly {
		return deny(host, r.why)
	}
	if host == None && (r.place == Worktrees || r.place == Modules) {
		return Decision{Class: Held, Why: whyModule}
	}
	return Decision{Class: Shared, Pinned: kind == Dir && pins(in, r.place), Vetted: r.vetted,
		Kept: host == File && keeps(in, name), Why: r.why}
}

// clash refuses to put something of another kind in the place of the host's.
func clash(in Place, name string, host, own Kind, d Decision) Decision {
	if d.Class != Shared || host == None || own == None || own == host {
		return d
	}
	if own == Symlink || own == Other || find(in, name, own).class != Shared {
		return Decision{Class: ReadOnly, Pinned: d.Pinned, Why: whyLink}
	}
	return d
}

// nothing decides about a name that nobody has. A name that may be one of several
// kinds is judged again when something is about to be made.
func nothing(in Place, name string) Decision {
	for _, kind := range [...]Kind{File, Dir} {
		if d := listed(in, name, kind, None); d.Class != Absent {
			d.Pinned = false
			return d
		}
	}
	return refuse(name, None, None)
}

// container decides below worktrees and modules, where the host's directories are
// open and everything new is a git directory of the sandbox's own.
func container(host Kind) Decision {
	switch host {
	case None:
		return Decision{Class: Held, Why: whyModule}
	case Dir:
		return Decision{Class: Shared, Pinned: true, Why: "the host's git directory"}
	}
	return Decision{Class: ReadOnly, Why: whyUnknown}
}

func refuse(name string, host, kind Kind) Decision {
	why := sealed[name]
	switch {
	case kind == Symlink || kind == Other:
		why = whyLink
	case why == "":
		why = whyUnknown
	}
	return deny(host, why)
}

// deny leaves what the host has, and the lack of it.
func deny(host Kind, why string) Decision {
	if host == None || host == Other {
		return Decision{Class: Absent, Why: why}
	}
	return Decision{Class: ReadOnly, Pinned: host == Dir, Why: why}
}

// pins reports whether a shared directory must stay where it is. What git itself
// removes when it is empty does not: directories of references, logs and objects.
func pins(in, place Place) bool {
	return (in == Main || in == Common || in == Linked || in == Objects && place == ObjectsInfo) && place != Aside
}

// keeps reports whether a file must not go away. Without HEAD there is no repository.
// For the sandbox's git the host's other work trees are gone, since their paths lead
// nowhere inside: "git worktree prune", which "git gc" runs too, removes what it can of
// their administrative directories.
func keeps(in Place, name string) bool {
	switch in {
	case Main, Logs:
		return name == "HEAD"
	case Linked:
		return name == "HEAD" || name == "index"
	}
	return false
}
