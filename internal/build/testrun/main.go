package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// event is one line of `go test -json` (see `go doc test2json`).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// totals adds up the tests of a run.
type totals struct{ passed, failed, skipped int }

func main() {
	suites := flag.String("suites", "unit", "comma-separated: unit, or an account to run the sandbox suites as")
	flag.String("stage", "", "folder with the programs and the image; kept by the caller")
	flag.Parse()
	var sum totals
	for suite := range strings.SplitSeq(*suites, ",") {
		t, err := run(suite, flag.Args())
		if err != nil {
			fmt.Fprintf(os.Stderr, "testrun: %s: %v\n", suite, err)
			t.failed++
		}
		fmt.Printf("== %s: %d passed, %d failed, %d skipped\n", suite, t.passed, t.failed, t.skipped)
		sum.passed, sum.failed, sum.skipped = sum.passed+t.passed, sum.failed+t.failed, sum.skipped+t.skipped
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", sum.passed, sum.failed, sum.skipped)
	if sum.failed > 0 || sum.passed == 0 {
		os.Exit(1)
	}
}

// run runs one suite and adds up its tests.
func run(suite string, packages []string) (totals, error) {
	args := []string{"test", "-json", "-timeout", "20m"}
	if suite == "unit" {
		args = append(args, "./...")
	} else {
		if len(packages) == 0 {
			return totals{}, errors.New("no package has sandbox tests")
		}
		as, err := filepath.Abs("internal/build/as")
		if err != nil {
			return totals{}, err
		}
		// One package at a time: each starts sandboxes of its own.
		args = append(args, "-count=1", "-p=1", "-tags", "sandbox", "-exec", as+" "+suite)
		args = append(args, packages...)
	}
	cmd := exec.Command("go", args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return totals{}, err
	}
	if err := cmd.Start(); err != nil {
		return totals{}, err
	}
	t := read(out, suite)
	if err := cmd.Wait(); err != nil && t.failed == 0 {
		return t, err
	}
	return t, nil
}

// read consumes a test's event stream, printing what failed with its output.
func read(r io.Reader, suite string) totals {
	var t totals
	output := map[string][]string{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text())
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
		case "pass":
			delete(output, key)
			if e.Test != "" {
				t.passed++
			} else {
				fmt.Printf("ok   %s %s (%.1fs)\n", suite, e.Package, e.Elapsed)
			}
		case "skip":
			if e.Test != "" && suite != "unit" {
				fmt.Printf("SKIP %s %s\n%s", suite, key, strings.Join(output[key], ""))
				t.failed++
			} else if e.Test != "" {
				t.skipped++
			}
			delete(output, key)
		case "fail", "build-fail":
			fmt.Printf("FAIL %s %s\n%s", suite, key, strings.Join(output[key], ""))
			t.failed++
			delete(output, key)
		}
	}
	return t
}
