package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"lazaret.dev/lazaret/coordinator/handover"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime/host"
	"lazaret.dev/lazaret/runtime/image"
)

// newOpener returns what opens sessions with configuration c, for `lazaret run`
// and the dashboard alike.
func newOpener(c *config.Config) spawn.Opener {
	return spawn.Opener{
		Plan: planner{c}.plan,
		Path: proc.Self(), Args: []string{"lazaret", handover.Mode}, Env: os.Environ(),
	}
}

// planner makes plans from one configuration.
type planner struct{ config *config.Config }

func (p planner) plan(ctx context.Context, profile, workspace string, progress func(string)) (plan.Plan, error) {
	if workspace != p.config.Workspace {
		return plan.Plan{}, &fault.Error{Kind: fault.Workspace,
			Message: fmt.Sprintf("the configuration was read for %s, not for %s", p.config.Workspace, workspace),
			Fix:     "start lazaret in the folder to work in"}
	}
	settings, err := p.config.Profile(profile)
	if err != nil {
		return plan.Plan{}, err
	}
	around := plan.Surroundings{Environ: os.Environ()}
	if around.GuestBinary, err = companion("lazaret-escalate"); err != nil {
		return plan.Plan{}, err
	}
	if around.RuntimeDir, err = p.config.RuntimeDir(); err != nil {
		return plan.Plan{}, err
	}
	needs := host.Options{StorageRoot: p.config.Storage.DataRoot, RuntimeDir: around.RuntimeDir}
	needs.Runsc, needs.RunscErr = companion("runsc")
	if err := host.Needed(ctx, needs); err != nil {
		return plan.Plan{}, err
	}
	around.Runsc = needs.Runsc
	var notice string
	if around.IDs, notice, err = host.DetectIDs(p.config.Storage.DataRoot); err != nil {
		return plan.Plan{}, err
	}
	lower, err := findImage(ctx, image.Options{
		StorageRoot: p.config.Storage.DataRoot, IDs: around.IDs,
		Source: image.Source(settings.Image), Insecure: settings.Registry.Insecure,
	}, notice, progress)
	if err != nil {
		return plan.Plan{}, err
	}
	around.Lower = plan.Lower{ID: lower.ID, Rootfs: lower.Rootfs, Env: lower.Env, User: lower.User}
	return plan.Build(p.config, profile, around)
}

// noticePrefix begins a progress line that is to stay.
const noticePrefix = "notice: "

// findImage finds the lower for a source, or prepares it and says how far it is.
// notice, what the id mapping costs, is for this moment: said at every start it would
// soon not be read.
func findImage(ctx context.Context, o image.Options, notice string, progress func(string)) (image.Lower, error) {
	lower, ok, err := image.Find(o.StorageRoot, o.Source, o.IDs)
	if err != nil || ok {
		return lower, err
	}
	if notice != "" {
		progress(noticePrefix + notice)
	}
	last := ""
	o.Progress = func(stage string, done, total int64) {
		text := imageProgress(o.Source, stage, done, total)
		if text != last {
			last = text
			progress(text)
		}
	}
	return image.Prepare(ctx, o)
}

const mebibyte = 1 << 20

func imageProgress(source image.Source, stage string, done, total int64) string {
	text := fmt.Sprintf("preparing image %s: %s", source, stage)
	switch {
	case total > 0:
		text += fmt.Sprintf(" %d of %d MiB", done/mebibyte, (total+mebibyte-1)/mebibyte)
	case done > 0:
		text += fmt.Sprintf(" %d MiB", done/mebibyte)
	}
	return text
}

// companion returns the path of a program that is installed beside this one, or
// in PATH.
func companion(name string) (string, error) {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err == nil {
		beside := filepath.Join(filepath.Dir(self), name)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return beside, nil
		}
	}
	path, err := proc.LookPath(name)
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", &fault.Error{Kind: fault.Host, Message: name + " is not installed", Err: err,
			Fix: "build it with `make build`; it belongs beside lazaret"}
	}
	return path, nil
}
