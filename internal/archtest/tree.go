package archtest

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Module is the path every import of our own begins with.
const Module = "lazaret.dev/lazaret/"

// Imports maps each package folder, relative to the module root, to the import
// paths of its files. Ours are given relative to the module, others as they are.
type Imports map[string]map[string]bool

// Read parses the import lists of every Go file below root that is not a test, in
// this module.
func Read(root string) (Imports, error) {
	all := Imports{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipForeign(root, path)
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		return all.add(root, path)
	})
	return all, err
}

// skipForeign keeps the walk out of build output, hidden folders, test data and
// nested modules.
func skipForeign(root, path string) error {
	name := filepath.Base(path)
	if path != root && (name == "bin" || name == "testdata" || strings.HasPrefix(name, ".")) {
		return filepath.SkipDir
	}
	if path == root {
		return nil
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func (all Imports) add(root, path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
	if err != nil {
		return err
	}
	folder, err := filepath.Rel(root, filepath.Dir(path))
	if err != nil {
		return err
	}
	if all[folder] == nil {
		all[folder] = map[string]bool{}
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		all[folder][strings.TrimPrefix(name, Module)] = true
	}
	return nil
}

// Within reports whether the import path or folder name is prefix or lies below it.
func Within(name, prefix string) bool {
	return name == prefix || strings.HasPrefix(name, prefix+"/")
}
