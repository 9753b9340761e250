package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
)

// idDetector finds out how guest ids map to host ids for a Storage Root, with a
// sentence for the developer where the map is a poor one.
type idDetector func(storageRoot string) (ids runtime.IDs, notice string, err error)

// newImageCommand is `lazaret image`.
func newImageCommand(detect idDetector) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "image",
		Short: "Prepare, list and build the images sandboxes start from",
		Long: `A sandbox starts from a prepared image: a directory every profile with the
same image shares, read-only. A source is one of

  builtin                     Lazaret's own, made of the distribution's packages
  oci:DIR[:TAG]               an OCI image layout
  docker-archive:FILE[:TAG]   what docker save writes
  HOST/NAME:TAG               a registry reference, also HOST/NAME@sha256:…`,
		Example: "  lazaret image prepare\n  lazaret image list\n  lazaret image build --output ./layout",
		Args:    noArguments,
	}
	cmd.AddCommand(newImagePrepareCommand(detect), newImageListCommand(), newImageBuildCommand(detect))
	return cmd
}

func newImagePrepareCommand(detect idDetector) *cobra.Command {
	var o image.Options
	var profile string
	cmd := &cobra.Command{
		Use:   "prepare [SOURCE]",
		Short: "Fetch or build an image, vet it and unpack it",
		Long: `Prepares SOURCE, or the image of the default profile. Every layer is checked
against its digests and every entry in it against the rules of docs/images.md
before it is unpacked. A prepared source keeps its content until --refresh looks
at it again.`,
		Example: `  lazaret image prepare
  lazaret image prepare --profile claude
  lazaret image prepare registry.example/team/dev:1.4
  lazaret image prepare --refresh oci:./layout:base`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			insecure := o.Insecure
			if o.Source, o.Insecure, err = imageSource(c, profile, args); err != nil {
				return err
			}
			o.Insecure = o.Insecure || insecure
			o.StorageRoot = c.Storage.DataRoot
			return prepareImage(cmd, o, detect)
		},
	}
	cmd.Flags().StringVar(&profile, "profile", "", "prepare this profile's image (default: the default profile's)")
	cmd.Flags().BoolVar(&o.Refresh, "refresh", false, "look at the source again: a tag may have moved")
	cmd.Flags().BoolVar(&o.Insecure, "insecure", false, "allow a registry over plain http")
	cmd.Flags().StringVar(&o.AuthFile, "auth-file", "", "registry credentials, a docker-style config.json")
	return cmd
}

// imageSource returns the source args name, else the image of a profile, and
// whether that profile allows plain http.
func imageSource(c *config.Config, profile string, args []string) (image.Source, bool, error) {
	if len(args) == 1 {
		if profile != "" {
			return "", false, &fault.Error{Kind: fault.Usage, Message: "both a source and a profile are given", Fix: "leave one of them out"}
		}
		return image.Source(args[0]), false, nil
	}
	if profile == "" {
		profile = c.DefaultProfile
	}
	p, err := c.Profile(profile)
	if err != nil {
		return "", false, err
	}
	return image.Source(p.Image), p.Registry.Insecure, nil
}

func prepareImage(cmd *cobra.Command, o image.Options, detect idDetector) error {
	ctx, stop := interruptible()
	defer stop()
	ids, notice, err := detect(o.StorageRoot)
	if err != nil {
		return err
	}
	o.IDs = ids
	meter := newMeter(cmd.ErrOrStderr())
	o.Progress = meter.progress
	lower, err := image.Prepare(ctx, o)
	meter.end()
	if err != nil {
		return err
	}
	w := cmd.ErrOrStderr()
	switch n := len(lower.Notes); n { // printable already
	case 0:
	case 1:
		fmt.Fprintf(w, "note: %s\n", lower.Notes[0])
	default:
		fmt.Fprintf(w, "note: %s, and %d more like it (lazaret image list --json)\n", lower.Notes[0], n-1)
	}
	for _, text := range []string{notice, lower.Notice()} {
		if text != "" {
			fmt.Fprintf(w, "notice: %s\n", text)
		}
	}
	return describeLower(cmd.OutOrStdout(), lower)
}

func describeLower(w io.Writer, l image.Lower) error {
	digest := l.ManifestDigest
	if digest == "" {
		digest = l.ConfigDigest
	}
	_, err := fmt.Fprintf(w, "source   %s\ndigest   %s\nids      %s\nentries  %d, %s of files\nlower    %s\n",
		term.Sanitize(l.Source), digest, l.Mode, l.Entries, mebibytes(l.Bytes), filepath.Dir(l.Rootfs))
	return err
}

func newImageListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the prepared images",
		Long:    "Lists the prepared images in the Storage Root, newest first.",
		Example: "  lazaret image list\n  lazaret image list --json | jq -r '.[].source'",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			lowers, err := image.List(c.Storage.DataRoot)
			if err != nil {
				return err
			}
			if asJSON {
				return listJSON(cmd.OutOrStdout(), lowers)
			}
			return listText(cmd.OutOrStdout(), lowers)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// listedImage is one prepared image in `image list --json`.
type listedImage struct {
	ID       string   `json:"id"`
	Source   string   `json:"source"`
	Manifest string   `json:"manifest_digest,omitempty"`
	Config   string   `json:"config_digest"`
	IDs      string   `json:"ids"`
	Rootfs   string   `json:"rootfs"`
	Prepared string   `json:"prepared"`
	Entries  int      `json:"entries"`
	Bytes    int64    `json:"bytes"`
	Notes    []string `json:"notes"`
	Notice   string   `json:"notice,omitempty"`
}

func listJSON(w io.Writer, lowers []image.Lower) error {
	out := make([]listedImage, 0, len(lowers))
	for _, l := range lowers {
		out = append(out, listedImage{
			ID: l.ID, Source: l.Source, Manifest: l.ManifestDigest, Config: l.ConfigDigest, IDs: string(l.Mode), Rootfs: l.Rootfs,
			Prepared: time.Unix(l.PreparedUnix, 0).UTC().Format(time.RFC3339), Entries: l.Entries, Bytes: l.Bytes,
			Notes: append([]string{}, l.Notes...), Notice: l.Notice(),
		})
	}
	return indented(w, out)
}

func listText(w io.Writer, lowers []image.Lower) error {
	if len(lowers) == 0 {
		_, err := fmt.Fprintln(w, "no image is prepared yet: lazaret image prepare")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tSOURCE\tIDS\tSIZE\tPREPARED")
	for _, l := range lowers {
		fmt.Fprintf(t, "%.12s\t%s\t%s\t%s\t%s\n", l.ID, term.Sanitize(l.Source), l.Mode, mebibytes(l.Bytes),
			time.Unix(l.PreparedUnix, 0).Format("2006-01-02 15:04"))
	}
	return t.Flush()
}

func newImageBuildCommand(detect idDetector) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "build",
		Short: "Build the built-in image as an OCI layout",
		Long: `Builds the built-in image from the packages of this host's Debian release with
mmdebstrap, which needs no root. Without --output it becomes what the source
builtin stands for; lazaret image prepare --refresh builds and prepares at once.`,
		Example: "  lazaret image build\n  lazaret image build --output ./layout && lazaret image prepare oci:./layout",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, _, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			return buildImage(cmd, c.Storage.DataRoot, output, detect)
		},
	}
	cmd.Flags().StringVar(&output, "output", "", "write the layout to this directory, which must be new or empty")
	return cmd
}

func buildImage(cmd *cobra.Command, storageRoot, output string, detect idDetector) error {
	ctx, stop := interruptible()
	defer stop()
	ids, _, err := detect(storageRoot)
	if err != nil {
		return err
	}
	meter := newMeter(cmd.ErrOrStderr())
	var digest string
	if output == "" {
		output, digest, err = image.Rebuild(ctx, image.Options{StorageRoot: storageRoot, IDs: ids, Progress: meter.progress})
	} else {
		digest, err = image.Build(ctx, image.BuildOptions{Output: output, IDs: ids, Progress: meter.progress})
	}
	meter.end()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "layout   %s\ndigest   %s\n", output, digest)
	return err
}

// meter shows progress: one line that changes on a terminal, else a line when a
// stage begins.
type meter struct {
	mu    sync.Mutex
	w     io.Writer
	live  bool
	stage string
	shown time.Time
	width int
}

// redraw is how often a changing line is drawn again.
const redraw = 100 * time.Millisecond

func newMeter(w io.Writer) *meter {
	f, ok := w.(*os.File)
	return &meter{w: w, live: ok && xterm.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
}

func (m *meter) progress(stage string, done, total int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	begins := stage != m.stage
	m.stage = stage
	if !m.live {
		if begins {
			fmt.Fprintln(m.w, stageText(stage))
		}
		return
	}
	if !begins && done != total && time.Since(m.shown) < redraw {
		return
	}
	m.shown = time.Now()
	line := stageText(stage) + amount(stage, done, total)
	fmt.Fprintf(m.w, "\r%-*s", m.width, line)
	m.width = len(line)
}

// end leaves the terminal at the beginning of a clean line.
func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.live && m.width > 0 {
		fmt.Fprintf(m.w, "\r%s\r", strings.Repeat(" ", m.width))
	}
}

func stageText(stage string) string {
	switch stage {
	case image.StageWait:
		return "waiting for another lazaret to prepare this image"
	case image.StageBuild:
		return "building the image from packages"
	case image.StageResolve:
		return "reading the image's manifest"
	case image.StageDownload:
		return "fetching layers"
	case image.StageUnpack:
		return "checking and unpacking layers"
	case image.StagePublish:
		return "putting the image in place"
	default:
		return stage
	}
}

func amount(stage string, done, total int64) string {
	switch {
	case total <= 0:
		return ""
	case stage == image.StageBuild:
		return fmt.Sprintf("  step %d of %d", done, total)
	default:
		return fmt.Sprintf("  %3d%%  %s of %s", done*100/total, mebibytes(done), mebibytes(total))
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
