package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == peerMode {
		os.Exit(peerMain(os.Args[2:]))
	}
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// measurement is one or more figures taken together.
type measurement struct {
	name string
	take func(context.Context, *world) ([]Figure, error)
}

var measurements = []measurement{
	{"start", starts},
	{"escalation", escalations},
	{"memory", memory},
	{"keys", keys},
	{"throughput", throughput},
	{"idle", idle},
	{"changes", changes},
	{"workspace", firstStatus},
	{"make-run", makeRun},
}

func run() error {
	bin := flag.String("bin", "bin", "folder of the built programs")
	layout := flag.String("layout", ".cache/test-image", "OCI layout of the image; built when it is not there")
	out := flag.String("json", ".cache/bench.json", "where the JSON document goes")
	only := flag.String("only", "", "take only measurements whose name matches")
	quick := flag.Bool("quick", false, "a fifth of the samples")
	flag.Parse()
	wanted, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("read -only: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	w, err := newWorld(ctx, *bin, *layout)
	if err != nil {
		return err
	}
	defer w.close()
	w.quick = *quick
	report := Report{Machine: describeMachine(), Image: w.layout}
	all := measurements
	for _, c := range chores {
		all = append(all, measurement{"workspace, " + c.name, c.take})
	}
	for _, m := range all {
		if !wanted.MatchString(m.name) {
			continue
		}
		fmt.Fprintf(os.Stderr, "bench: %s\n", m.name)
		figures, err := m.take(ctx, w)
		if err != nil {
			// The other figures are worth having all the same.
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", m.name, err)
			figures = append(figures, Figure{Name: m.name, Note: "not measured: " + err.Error()})
		}
		for _, f := range figures {
			fmt.Fprintf(os.Stderr, "bench: %s\n", f.brief())
		}
		report.Figures = append(report.Figures, figures...)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	report.Load = loadAverage()
	report.table(os.Stdout)
	return report.write(*out)
}

func (r Report) write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write the figures: %w", err)
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}
