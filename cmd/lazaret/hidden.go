package main

import (
	"lazaret.dev/lazaret/coordinator/handover"
	"lazaret.dev/lazaret/runtime/host"
	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/supervisor"
	"lazaret.dev/lazaret/runtime/workspacefs/daemon"
)

// hidden maps the first argument of a hidden mode to what runs it. Lazaret starts
// itself in these modes; nobody types them.
var hidden = map[string]func(args []string) int{
	handover.Mode:   coordinatorMain,
	supervisor.Mode: supervisor.Main,
	imageWorkerMode: image.WorkerMain,
	host.ProbeMode:  host.ProbeMain,
	daemon.Mode:     daemon.Main,
}

// imageWorkerMode is the name package image starts its worker by.
const imageWorkerMode = "__image-worker"

// hiddenMode returns the hidden mode args ask for, if any.
func hiddenMode(args []string) (func([]string) int, bool) {
	if len(args) < 2 {
		return nil, false
	}
	run, ok := hidden[args[1]]
	return run, ok
}
