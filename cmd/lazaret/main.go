// Command lazaret is the whole program: the dashboard, the commands, and the
// hidden modes the coordinator starts itself in. This file is wiring only.
package main

import (
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/fault"
)

func main() {
	if run, ok := hiddenMode(os.Args); ok {
		os.Exit(run(os.Args[2:]))
	}
	os.Exit(execute(os.Args[1:]))
}

// execute runs one visible command and returns the process's exit code.
func execute(args []string) int {
	// What a shell leaves open must reach neither the sandbox nor an approved
	// command. The hidden modes are not touched: they inherit on purpose.
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC)
	root := newRootCommand()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	return report(err)
}

// report prints err and its remedy and returns the exit code for it.
func report(err error) int {
	if code, ok := commandStatus(err); ok {
		return code
	}
	fmt.Fprintf(os.Stderr, "lazaret: %v\n", err)
	if fix := fault.FixOf(err); fix != "" {
		fmt.Fprintf(os.Stderr, "  fix: %s\n", fix)
	}
	return int(fault.KindOf(err))
}
