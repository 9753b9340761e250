package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
)

func runImage(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	root := &cobra.Command{Use: "lazaret", SilenceUsage: true, SilenceErrors: true}
	root.PersistentFlags().String("config", "", "")
	root.AddCommand(newImageCommand(func(string) (runtime.IDs, string, error) {
		return runtime.IDs{Mode: runtime.ModeSingle}, "a notice", nil
	}))
	var out, text bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&text)
	root.SetArgs(append([]string{"image"}, args...))
	err = root.Execute()
	return out.String(), text.String(), err
}

func TestImageListOfNothing(t *testing.T) {
	configWorld(t)
	out, _, err := runImage(t, "list")
	if err != nil || !strings.Contains(out, "lazaret image prepare") {
		t.Errorf("%q, %v", out, err)
	}
	out, _, err = runImage(t, "list", "--json")
	var list []any
	if err != nil || json.Unmarshal([]byte(out), &list) != nil || list == nil || len(list) != 0 {
		t.Errorf("%q, %v", out, err)
	}
}

func TestImageRefusals(t *testing.T) {
	configWorld(t)
	for _, c := range []struct {
		args []string
		kind fault.Kind
		want string
	}{
		{[]string{"prepare", "debian"}, fault.Image, "not a complete reference"},
		{[]string{"prepare", "oci:" + filepath.Join(t.TempDir(), "none")}, fault.Image, "no OCI image layout"},
		{[]string{"prepare", "127.0.0.1:1/name:tag"}, fault.Image, "plain http"},
		{[]string{"prepare", "--profile", "shell", "builtin"}, fault.Usage, "both a source and a profile"},
		{[]string{"prepare", "--profile", "nobody"}, fault.Config, `no profile "nobody"`},
		{[]string{"list", "more"}, fault.Usage, "takes no argument"},
	} {
		_, _, err := runImage(t, c.args...)
		if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || fault.FixOf(err) == "" {
			t.Errorf("%q: %v (fix %q)", c.args, err, fault.FixOf(err))
		}
	}
}

func TestImageDetectorFailure(t *testing.T) {
	configWorld(t)
	broken := errors.New("no ids today")
	cmd := newImageCommand(func(string) (runtime.IDs, string, error) { return runtime.IDs{}, "", broken })
	cmd.PersistentFlags().String("config", "", "")
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs([]string{"prepare", "builtin"})
	if err := cmd.Execute(); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestMeterOnAPipe(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := newMeter(&out)
	m.progress(image.StageUnpack, 0, 10)
	m.progress(image.StageUnpack, 5, 10)
	m.progress(image.StagePublish, 0, 0)
	m.end()
	if out.String() != "checking and unpacking layers\nputting the image in place\n" {
		t.Errorf("%q", out.String())
	}
}

func TestMeterOnATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	m := newMeter(&out)
	m.live = true
	m.progress(image.StageBuild, 1, 9)
	m.progress(image.StageDownload, 1<<20, 4<<20)
	m.progress(image.StageDownload, 4<<20, 4<<20)
	m.progress(image.StagePublish, 0, 0)
	m.end()
	for _, want := range []string{"step 1 of 9", " 25%  1.0 MiB of 4.0 MiB", "100%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q lacks %q", out.String(), want)
		}
	}
	if strings.Contains(out.String(), "\n") || !strings.HasSuffix(out.String(), "\r") {
		t.Errorf("%q does not end on a clean line", out.String())
	}
}
