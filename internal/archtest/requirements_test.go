package archtest_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// requirements are the ids of the specification, sections 4.1 to 4.4.
var requirements = strings.Fields(`
	SR-1 SR-3 SR-4 SR-5 SR-6 SR-10 SR-11 SR-12 SR-13 SR-14 SR-15
	FR-1 FR-3 FR-4 FR-7 FR-8 FR-9 FR-11 FR-14 FR-15 FR-16 FR-17 FR-18 FR-19 FR-20 FR-21 FR-22
	DX-1 DX-2 DX-3 DX-4 DX-5 DX-6
	OR-4 OR-5 OR-6 OR-7`)

var (
	requirementRow = regexp.MustCompile(`^\| ([A-Z]{2}-\d+) \| (.*) \|$`)
	testReference  = regexp.MustCompile("`([a-z0-9_/.-]+)\\.(Test[A-Za-z0-9_]+)`")
	testFunction   = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9_]+)\(`)
)

// TestRequirementsMap holds docs/requirements.md to the tree: every requirement
// has exactly one row, and each row says "not yet" or names tests that exist.
func TestRequirementsMap(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs/requirements.md"))
	if err != nil {
		t.Fatal(err)
	}
	tests := testsOf(t)
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		m := requirementRow.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		if rows[m[1]] {
			t.Errorf("%s has two rows", m[1])
		}
		rows[m[1]] = true
		named := testReference.FindAllStringSubmatch(m[2], -1)
		if len(named) == 0 && !strings.Contains(m[2], "not yet") {
			t.Errorf(`%s names no test and does not say "not yet"`, m[1])
		}
		for _, n := range named {
			if !tests[n[1]][n[2]] {
				t.Errorf("%s names %s.%s, which does not exist", m[1], n[1], n[2])
			}
		}
	}
	for _, id := range requirements {
		if !rows[id] {
			t.Errorf("%s has no row", id)
		}
	}
	if len(rows) != len(requirements) {
		t.Errorf("%d rows for %d requirements", len(rows), len(requirements))
	}
}

// testsOf maps each package folder to the test functions in it.
func testsOf(t *testing.T) map[string]map[string]bool {
	t.Helper()
	found := map[string]map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		if found[folder] == nil {
			found[folder] = map[string]bool{}
		}
		for _, m := range testFunction.FindAllStringSubmatch(string(text), -1) {
			found[folder][m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
