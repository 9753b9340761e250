package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// makeProgram makes small files, 100 in a directory.
const makeProgram = `import os, sys
base, count, text = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for i in range(count):
    if i % 100 == 0:
        folder = "%s/%04d" % (base, i // 100)
        os.makedirs(folder)
    with open("%s/%02d.js" % (folder, i % 100), "w") as f:
        f.write("module.exports = '%s %d';\n" % (text, i) * 10)
`

// Budgets are ratios to the bind.
var chores = []chore{
	{name: "git status, warm", line: "git status --porcelain", rounds: 9, ratio: 1.2},
	{name: "find, 50,000 files", line: "find . -name nothing", rounds: 9, ratio: 1.4},
	{name: "grep -r, 10,000 files", line: "grep -r nothingofthekind part0[0-4] || :", rounds: 9, ratio: 1.3},
	{name: "read 10,000 files", line: "find part0[5-9] -type f -print0 | xargs -0 cat >/dev/null", rounds: 9, ratio: 1.2},
	{
		name: "git add and commit, 2,000 new files", rounds: 3, ratio: 1.3,
		prepare: "python3 " + toolsDir + "/make.py new/$N 2000 $N",
		note:    "without the packing git begins by itself after many",
		line:    "git add new/$N && git -c gc.auto=0 -c user.name=x -c user.email=x@example.org commit -q -m $N",
	},
	{
		name: "create 20,000 files, ignored", rounds: 3, ratio: 1.6,
		line: "python3 " + toolsDir + "/make.py out$N 20000 x",
		note: "in a directory git ignores, made at that moment",
	},
	{
		name: "write 200 MB", rounds: 5, ratio: 2, either: atMost(500),
		line: "dd if=/dev/zero of=big$N bs=1M count=200", tidy: "rm big$N",
	},
	{
		name: "go build, 60 packages", rounds: 3, ratio: 1.3,
		prepare: `printf 'package leaf\nconst Round = %d\n' $N >module/leaf/round.go`,
		line:    "cd module && GOROOT=" + goDir + " GOCACHE=$PWD/../outcache GOFLAGS=-mod=mod GOTOOLCHAIN=local CGO_ENABLED=0 " + goDir + "/bin/go build -o ../outcache/program . && cd ..",
		note:    "of a module in the workspace, everything that depends on one changed package; the standard library is built already",
	},
}

// furnishTools makes the folder of programs, and finds Go.
func (w *world) furnishTools() error {
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("ask go for its folder: %w", err)
	}
	w.goRoot = strings.TrimSpace(string(out))
	dir := filepath.Join(w.dir, "tools")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, "make.py"), []byte(makeProgram), 0o644)
}
