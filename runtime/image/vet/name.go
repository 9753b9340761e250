package vet

import "strings"

const (
	whiteoutPrefix = ".wh."
	opaqueMarker   = ".wh..wh..opq"
)

// Name checks an entry's name and returns its components, none of which is
// empty, "." or "..". The root itself has no components.
func (l Limits) Name(name string) ([]string, *Refusal) {
	switch {
	case name == "":
		return nil, refuse(RuleNameEmpty, name, "the name is empty")
	case strings.IndexByte(name, 0) >= 0:
		return nil, refuse(RuleNameNUL, name, "the name holds a NUL byte")
	case len(name) > l.PathBytes:
		return nil, refuse(RuleNameLength, name, "%d bytes exceed the limit of %d", len(name), l.PathBytes)
	case name[0] == '/':
		return nil, refuse(RuleNameAbsolute, name, "the name is absolute")
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return nil, refuse(RuleNameDotDot, name, "a component is %q", "..")
		case len(part) > l.ComponentBytes:
			return nil, refuse(RuleNameComponent, name, "a component of %d bytes exceeds the limit of %d", len(part), l.ComponentBytes)
		}
		parts = append(parts, part)
	}
	if len(parts) > l.Depth {
		return nil, refuse(RuleNameDepth, name, "%d components exceed the limit of %d", len(parts), l.Depth)
	}
	return parts, nil
}

// whiteout checks the components of a name for whiteouts and says whether the
// last one is.
func whiteout(name string, parts []string) (bool, *Refusal) {
	if len(parts) == 0 {
		return false, nil
	}
	last := len(parts) - 1
	for _, part := range parts[:last] {
		if strings.HasPrefix(part, whiteoutPrefix) {
			return false, refuse(RuleWhiteoutPath, name, "component %q uses the whiteout prefix", part)
		}
	}
	target, is := strings.CutPrefix(parts[last], whiteoutPrefix)
	if !is || parts[last] == opaqueMarker {
		return is, nil
	}
	if target == "" || target == "." || target == ".." || strings.HasPrefix(target, whiteoutPrefix) {
		return true, refuse(RuleWhiteoutName, name, "%q is not the name of an entry beside it", target)
	}
	return true, nil
}
