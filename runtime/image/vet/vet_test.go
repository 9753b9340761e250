package vet_test

import (
	"archive/tar"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"lazaret.dev/lazaret/runtime/image/vet"
)

var subordinate = vet.Owners{UIDs: 65537, GIDs: 65537}

func file(name string) *tar.Header {
	return &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o644}
}

func with(h *tar.Header, change func(*tar.Header)) *tar.Header {
	change(h)
	return h
}

func typed(name string, kind byte) *tar.Header {
	return with(file(name), func(h *tar.Header) { h.Typeflag = kind })
}

func link(name, target string, kind byte) *tar.Header {
	return with(typed(name, kind), func(h *tar.Header) { h.Linkname = target })
}

func pax(records ...string) *tar.Header {
	return with(file("f"), func(h *tar.Header) {
		h.PAXRecords = map[string]string{}
		for i := 0; i < len(records); i += 2 {
			h.PAXRecords[records[i]] = records[i+1]
		}
	})
}

// refusals has, for every rule a header alone can break, a header that does and
// the nearest one that does not.
func refusals() []refusal {
	l := vet.DefaultLimits()
	return []refusal{
		{vet.RuleNameEmpty, file(""), file("f")},
		{vet.RuleNameNUL, file("a\x00b"), file("a b")},
		{vet.RuleNameAbsolute, file("/etc/passwd"), file("etc/passwd")},
		{vet.RuleNameAbsolute, typed("/", tar.TypeDir), typed("./", tar.TypeDir)},
		{vet.RuleNameDotDot, file("../f"), file("..f")},
		{vet.RuleNameDotDot, file("a/../f"), file("a/./f")},
		{vet.RuleNameDotDot, typed("a/..", tar.TypeDir), typed("a/...", tar.TypeDir)},
		{vet.RuleNameDotDot, file("a/b/../../../f"), file("a/b/..c/f")},
		{vet.RuleNameLength, file(strings.Repeat("a/", 2048)), file(strings.Repeat("abcdefg/", 256)[:2047])},
		{vet.RuleNameComponent, file(strings.Repeat("a", 256)), file(strings.Repeat("a", 255))},
		{vet.RuleNameDepth, file(strings.Repeat("a/", 256) + "a"), file(strings.Repeat("a/", 255) + "a")},
		{vet.RuleRootType, link(".", "/tmp", tar.TypeSymlink), link("r", "/tmp", tar.TypeSymlink)},
		{vet.RuleRootType, file("./"), typed("./", tar.TypeDir)},
		{vet.RuleWhiteoutName, file(".wh."), file(".wh.a")},
		{vet.RuleWhiteoutName, file(".wh.."), file(".wh..a")},
		{vet.RuleWhiteoutName, file(".wh..."), file(".wh....")},
		{vet.RuleWhiteoutName, file("a/.wh..."), file("a/.wh..b")},
		{vet.RuleWhiteoutName, file("a/.wh."), file("a/.wh.b")},
		{vet.RuleWhiteoutName, file(".wh..wh.a"), file(".wh.wh.a")},
		{vet.RuleWhiteoutName, file(".wh..wh..opqx"), file(".wh..wh..opq")},
		{vet.RuleWhiteoutType, typed(".wh.a", tar.TypeDir), file(".wh.a")},
		{vet.RuleWhiteoutType, link(".wh.a", "b", tar.TypeSymlink), link("wh.a", "b", tar.TypeSymlink)},
		{vet.RuleWhiteoutType, link("a/.wh..wh..opq", "b", tar.TypeLink), file("a/.wh..wh..opq")},
		{vet.RuleWhiteoutBody, with(file(".wh.a"), func(h *tar.Header) { h.Size = 1 }), file(".wh.a")},
		{vet.RuleWhiteoutPath, file(".wh.a/f"), file("wh.a/f")},
		{vet.RuleWhiteoutPath, file("a/.wh..wh..opq/f"), file("a/opq/f")},
		{vet.RuleEntryType, typed("f", '7'), typed("f", tar.TypeFifo)},
		{vet.RuleEntryType, typed("f", 'V'), typed("f", tar.TypeReg)},
		{vet.RuleSparse, typed("f", tar.TypeGNUSparse), file("f")},
		{vet.RuleSparse, pax("GNU.sparse.major", "1"), pax("comment", "sparse")},
		{vet.RuleFileSize, with(file("f"), func(h *tar.Header) { h.Size = l.FileBytes + 1 }), with(file("f"), func(h *tar.Header) { h.Size = l.FileBytes })},
		{vet.RuleFileSize, with(file("f"), func(h *tar.Header) { h.Size = -1 }), file("f")},
		{vet.RuleFileSize, with(typed("d", tar.TypeDir), func(h *tar.Header) { h.Size = 1 }), typed("d", tar.TypeDir)},
		{vet.RuleOwner, with(file("f"), func(h *tar.Header) { h.Uid = 65537 }), with(file("f"), func(h *tar.Header) { h.Uid = 65536 })},
		{vet.RuleOwner, with(file("f"), func(h *tar.Header) { h.Gid = 70000 }), with(file("f"), func(h *tar.Header) { h.Gid = 100 })},
		{vet.RuleOwner, with(file("f"), func(h *tar.Header) { h.Uid = 1 << 33 }), with(file("f"), func(h *tar.Header) { h.Uid = 1 << 3 })},
		{vet.RuleOwner, with(file("f"), func(h *tar.Header) { h.Gid = -1 }), file("f")},
		{vet.RuleOwner, with(file("f"), func(h *tar.Header) { h.Uid = math.MinInt64 }), file("f")},
		{vet.RuleLinkTarget, link("f", "/etc/passwd", tar.TypeLink), link("f", "etc/passwd", tar.TypeLink)},
		{vet.RuleLinkTarget, link("f", "../etc/passwd", tar.TypeLink), link("f", "..etc/passwd", tar.TypeLink)},
		{vet.RuleLinkTarget, link("f", "a/../../b", tar.TypeLink), link("f", "a/./b", tar.TypeLink)},
		{vet.RuleLinkTarget, link("f", "", tar.TypeLink), link("f", "g", tar.TypeLink)},
		{vet.RuleLinkTarget, link("f", ".", tar.TypeLink), link("f", "./g", tar.TypeLink)},
		{vet.RuleLinkTarget, link("f", "a/.wh.b", tar.TypeLink), link("f", "a/wh.b", tar.TypeLink)},
		{vet.RuleLinkTarget, link("f", "a\x00b", tar.TypeLink), link("f", "a b", tar.TypeLink)},
		{vet.RuleLinkLength, link("f", "", tar.TypeSymlink), link("f", "/anywhere/../at/all", tar.TypeSymlink)},
		{vet.RuleLinkLength, link("f", strings.Repeat("a", 4096), tar.TypeSymlink), link("f", strings.Repeat("a", 4095), tar.TypeSymlink)},
		{vet.RuleNameNUL, link("f", "a\x00b", tar.TypeSymlink), link("f", "ab", tar.TypeSymlink)},
		{vet.RuleXattrCount, manyXattrs(65), manyXattrs(64)},
		{vet.RuleXattrSize, pax("SCHILY.xattr.user.a", strings.Repeat("a", 65537)), pax("SCHILY.xattr.user.a", strings.Repeat("a", 65536))},
		{vet.RulePaxSize, pax("comment", strings.Repeat("a", 1<<20)), pax("comment", strings.Repeat("a", 1<<19))},
	}
}

type refusal struct {
	rule      vet.Rule
	bad, twin *tar.Header
}

func manyXattrs(n int) *tar.Header {
	var records []string
	for i := range n {
		records = append(records, "SCHILY.xattr.user."+strings.Repeat("a", i+1), "v")
	}
	return pax(records...)
}

func TestVetterRefusesWhatBreaksARule(t *testing.T) {
	t.Parallel()
	for _, c := range refusals() {
		name, bad := c.bad.Name, *c.bad
		_, err := vet.New(vet.DefaultLimits(), subordinate).Entry(&bad)
		var got *vet.Refusal
		if !errors.As(err, &got) || got.Rule != c.rule || got.Name != name {
			t.Errorf("%.80q (type %q): got %v, want a refusal by %s", name, c.bad.Typeflag, err, c.rule)
		}
		twin := *c.twin
		if _, err := vet.New(vet.DefaultLimits(), subordinate).Entry(&twin); err != nil {
			t.Errorf("%.80q, the harmless twin for %s: %v", c.twin.Name, c.rule, err)
		}
	}
}

// Each rule is needed: without it, the header it is there for gets through.
func TestEachRuleIsNeeded(t *testing.T) {
	t.Parallel()
	for _, c := range refusals() {
		v := vet.New(vet.DefaultLimits(), subordinate)
		v.Disable(c.rule)
		bad := *c.bad
		if _, err := v.Entry(&bad); err != nil {
			t.Errorf("%.80q: rule %s is off and still %v", c.bad.Name, c.rule, err)
		}
	}
}

func TestVetterCountsEntries(t *testing.T) {
	t.Parallel()
	limits := vet.DefaultLimits()
	limits.EntriesPerLayer, limits.EntriesPerImage = 3, 5
	v := vet.New(limits, subordinate)
	feed := func(n int) (err error) {
		for range n {
			if _, err = v.Entry(file("f")); err != nil {
				return err
			}
		}
		return nil
	}
	if err := feed(3); err != nil {
		t.Fatalf("three entries: %v", err)
	}
	if err := feed(1); !breaks(err, vet.RuleEntryCount) {
		t.Fatalf("fourth entry of a layer: %v", err)
	}
	v = vet.New(limits, subordinate)
	_ = feed(3)
	v.NextLayer()
	if err := feed(2); err != nil {
		t.Fatalf("five entries in two layers: %v", err)
	}
	if err := feed(1); !breaks(err, vet.RuleEntryCount) {
		t.Fatalf("sixth entry of an image: %v", err)
	}
}

func breaks(err error, rule vet.Rule) bool {
	var r *vet.Refusal
	return errors.As(err, &r) && r.Rule == rule
}

func TestVetterSkips(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		header *tar.Header
		noted  bool
	}{
		{typed("pax_global_header", tar.TypeXGlobalHeader), false},
		{typed("srv/sda", tar.TypeBlock), true},
		{typed("srv/null", tar.TypeChar), true},
		{typed("./dev/null", tar.TypeChar), false},
	} {
		entry, err := vet.New(vet.DefaultLimits(), subordinate).Entry(c.header)
		if err != nil || entry.Action != vet.Skip || (entry.Note != "") != c.noted {
			t.Errorf("%q: %+v, %v", c.header.Name, entry, err)
		}
	}
	// A device node is held to the rules of names all the same.
	if _, err := vet.New(vet.DefaultLimits(), subordinate).Entry(typed("../null", tar.TypeChar)); !breaks(err, vet.RuleNameDotDot) {
		t.Errorf("device node above the root: %v", err)
	}
}

func TestVetterRewrites(t *testing.T) {
	t.Parallel()
	h := &tar.Header{
		Name: ".//usr/./bin//x", Typeflag: tar.TypeReg, Mode: 0o104755, Uid: 7, Gid: 8, Uname: "u", Gname: "g",
		ModTime: time.Unix(-5, 0), AccessTime: time.Unix(1, 0), Devmajor: 3,
		PAXRecords: map[string]string{
			"SCHILY.xattr.user.mime_type":                   "text/plain",
			"SCHILY.xattr.security.capability":              "cap",
			"SCHILY.xattr.trusted.overlay.opaque":           "y",
			"SCHILY.xattr.user.overlay.opaque":              "y",
			"SCHILY.xattr.user.rootlesscontainers":          "x",
			"SCHILY.xattr.security.selinux":                 "x",
			"SCHILY.xattr.system.posix_acl_access":          "x",
			"SCHILY.xattr.user.":                            "x",
			"SCHILY.xattr.user." + strings.Repeat("n", 256): "x",
		},
	}
	entry, err := vet.New(vet.DefaultLimits(), subordinate).Entry(h)
	if err != nil {
		t.Fatal(err)
	}
	if h.Name != "usr/bin/x" || strings.Join(entry.Parts, "/") != h.Name || h.Mode != 0o4755 || h.Uid != 7 || h.Gid != 8 {
		t.Errorf("name %q, mode %o, owner %d:%d", h.Name, h.Mode, h.Uid, h.Gid)
	}
	if h.ModTime.Unix() != 0 || !h.AccessTime.IsZero() || h.Devmajor != 0 || h.Uname != "" || h.PAXRecords != nil {
		t.Errorf("not normalised: %+v", h)
	}
	xattrs := h.Xattrs //nolint:staticcheck // the extractor reads this field
	if len(xattrs) != 2 || xattrs["user.mime_type"] != "text/plain" || xattrs["security.capability"] != "cap" {
		t.Errorf("attributes kept: %q", xattrs)
	}
}

func TestVetterCollapsesOwners(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		uid, gid   int
		mode, want int64
	}{{0, 0, 0o4755, 0o4755}, {1 << 33, 0, 0o4755, 0o755}, {0, 42, 0o2755, 0o755}, {-1, 0, 0o1777, 0o1777}} {
		h := file("f")
		h.Uid, h.Gid, h.Mode = c.uid, c.gid, c.mode
		if _, err := vet.New(vet.DefaultLimits(), vet.Owners{Collapse: true}).Entry(h); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Mode != c.want {
			t.Errorf("%+v: owner %d:%d mode %o", c, h.Uid, h.Gid, h.Mode)
		}
	}
}
