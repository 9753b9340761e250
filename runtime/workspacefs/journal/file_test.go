package journal_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"lazaret.dev/lazaret/internal/safefs"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

func openDir(t *testing.T) *os.File {
	t.Helper()
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir
}

func TestOpenTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	dir := openDir(t)
	j, err := journal.Open(dir)
	if err != nil || len(everything(j)) != 0 {
		t.Fatalf("a missing journal: %v", err)
	}
	data, err := sample().Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := journal.SaveIn(dir, journal.FileName)(data, true); err != nil {
		t.Fatal(err)
	}
	if j, err := journal.Open(dir); err != nil || len(everything(j)) != 3 {
		t.Errorf("%v", err)
	}
	path := filepath.Join(dir.Name(), journal.FileName)
	if err := os.WriteFile(path, data[:len(data)-1], 0o600); err != nil {
		t.Fatal(err)
	}
	if j, err := journal.Open(dir); !errors.Is(err, journal.ErrDamaged) || j == nil || len(everything(j)) != 0 {
		t.Errorf("cut off: %v", err)
	}
	os.Remove(path)
	if err := os.Symlink("/etc/passwd", path); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(dir); !errors.Is(err, safefs.ErrNotRegular) {
		t.Errorf("a link: %v", err)
	}
	os.Remove(path)
	if err := os.Truncate(mustCreate(t, path), 1<<40); err != nil {
		t.Fatal(err)
	}
	if _, err := journal.Open(dir); !errors.Is(err, safefs.ErrTooLarge) {
		t.Errorf("a huge file: %v", err)
	}
	if p, err := journal.OpenPins(dir); err != nil || len(p.All()) != 0 {
		t.Errorf("missing pins: %v", err)
	}
}

func mustCreate(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// saved counts the writings and can refuse them.
type saved struct {
	times []time.Duration
	last  int
	fail  bool
}

func (s *saved) writer(r journal.Record, failed func(error)) *journal.Writer {
	start := time.Now()
	return &journal.Writer{Record: r, Failed: failed, Save: func(_ []byte, last bool) error {
		s.times = append(s.times, time.Since(start))
		if last {
			s.last++
		}
		if s.fail {
			return errors.New("no space")
		}
		return nil
	}}
}

func TestWriterWritesAtMostOnceASecondAndAtTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := journal.New()
		var s saved
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.writer(j, nil).Run(ctx) }()
		tick := time.NewTicker(100 * time.Millisecond)
		for range 25 { // 2.5 seconds of steady work
			j.Note(journal.Change{Path: "a", Kind: journal.Changed, Time: time.Now()})
			synctest.Wait()
			<-tick.C
		}
		synctest.Wait()
		if want := []time.Duration{0, time.Second, 2 * time.Second}; len(s.times) != 3 || s.times[1] < want[1] || s.times[2] < want[2] {
			t.Errorf("written at %v", s.times)
		}
		cancel()
		if err := <-done; err != nil || s.last != 1 || len(s.times) != 4 {
			t.Errorf("at the end: %v, %d last, %v", err, s.last, s.times)
		}
	})
}

func TestFlushIsWrittenAtOnce(t *testing.T) {
	t.Parallel()
	var s saved
	if err := s.writer(journal.New(), nil).Flush(); err != nil || s.last != 1 {
		t.Errorf("%v, %d durable", err, s.last)
	}
}

func TestWriterIsSilentWhenNothingChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := journal.NewPins()
		if err := p.ByHost("a", nil, false); err != nil {
			t.Fatal(err)
		}
		var s saved
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if err := s.writer(p, nil).Run(ctx); err != nil || len(s.times) != 2 {
			t.Errorf("%v, written at %v", err, s.times)
		}
	})
}

func TestWriterTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := journal.New()
		j.Note(journal.Change{Path: "a", Kind: journal.Changed, Time: time.Now()})
		s := saved{fail: true}
		told := 0
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := s.writer(j, func(error) {
			if told++; told == 3 {
				s.fail = false
				time.AfterFunc(10*time.Second, cancel)
			}
		})
		if err := w.Run(ctx); err != nil || told != 3 || len(s.times) != 5 {
			t.Errorf("%v, told %d times, written at %v", err, told, s.times)
		}
	})
}
