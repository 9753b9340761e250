//go:build sandbox

package supervisor_test

import (
	"context"
	"os"
	"testing"
	"time"

	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/supervisor"
)

// firstByte runs echo and returns when its first byte has come.
func firstByte(b *testing.B, s runtime.Sandbox) {
	b.Helper()
	in, inW, _ := os.Pipe()
	out, outW, _ := os.Pipe()
	p, err := s.Exec(b.Context(), runtime.ExecSpec{Session: domain.NewSessionID(), Argv: []string{"echo", "x"}, Dir: "/",
		Stdin: in, Stdout: outW, Stderr: outW})
	if err != nil {
		b.Fatal(err)
	}
	in.Close()
	outW.Close()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		b.Fatal(err)
	}
	b.StopTimer()
	<-p.Done()
	out.Close()
	inW.Close()
	b.StartTimer()
}

// BenchmarkColdFirstByte is from nothing to the first byte of a command.
func BenchmarkColdFirstByte(b *testing.B) {
	spec := newSpec(b)
	best := time.Hour
	for b.Loop() {
		spec.Generation = domain.NewGeneration()
		begun := time.Now()
		s, err := supervisor.NewLauncher().Launch(b.Context(), spec, nil)
		if err != nil {
			b.Fatal(err)
		}
		firstByte(b, s)
		best = min(best, time.Since(begun))
		b.StopTimer()
		b.ReportMetric(float64(best.Microseconds())/1000, "best-ms")
		for _, step := range s.Status().Steps {
			b.ReportMetric(float64(step.Micros)/1000, step.Name+"-ms")
		}
		stop(b, s)
		b.StartTimer()
	}
}

// BenchmarkWarmFirstByte is one more command in a running sandbox.
func BenchmarkWarmFirstByte(b *testing.B) {
	s := start(b, newSpec(b))
	firstByte(b, s)
	for b.Loop() {
		firstByte(b, s)
	}
}

func BenchmarkStop(b *testing.B) {
	spec := newSpec(b)
	for b.Loop() {
		b.StopTimer()
		spec.Generation = domain.NewGeneration()
		s, err := supervisor.NewLauncher().Launch(b.Context(), spec, nil)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		b.StartTimer()
		if _, err := s.Stop(ctx); err != nil {
			b.Fatal(err)
		}
		cancel()
	}
}
