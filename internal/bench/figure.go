package main

import (
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"
)

// Report is the JSON document.
type Report struct {
	Machine string   `json:"machine"`
	Load    string   `json:"load_average"` // at the end
	Image   string   `json:"image"`
	Figures []Figure `json:"figures"`
}

// Figure is one thing measured, beside its peer.
type Figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit"`
	Ours   Sample  `json:"ours"`
	Peer   *Sample `json:"peer,omitempty"`
	PeerIs string  `json:"peer_is,omitempty"`
	// MaxRatio bounds ours/peer of the medians; Max bounds our median itself. With both
	// one of them is enough.
	MaxRatio float64            `json:"max_ratio,omitempty"`
	Max      *float64           `json:"max,omitempty"`
	Parts    map[string]float64 `json:"parts,omitempty"`
	Note     string             `json:"note,omitempty"`
}

// Sample is a set of values.
type Sample struct {
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	P95    float64 `json:"p95"`
}

func sample(values []float64) Sample {
	if len(values) == 0 {
		return Sample{}
	}
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return Sample{N: n, Median: (v[(n-1)/2] + v[n/2]) / 2, Min: v[0], Max: v[n-1], P95: v[min(n-1, n*95/100)]}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func atMost(v float64) *float64 { return &v }

// verdict is "ok", "over", or "" without a budget.
func (f Figure) verdict() (verdict, budget string) {
	if f.Ours.N == 0 {
		return "", ""
	}
	var over bool
	switch compared := f.MaxRatio > 0 && f.Peer != nil; {
	case f.Max != nil && compared:
		over = f.Ours.Median > *f.Max && f.Ours.Median > f.MaxRatio*f.Peer.Median
		budget = fmt.Sprintf("<= %s %s or %sx", number(*f.Max), f.Unit, number(f.MaxRatio))
	case f.Max != nil:
		over, budget = f.Ours.Median > *f.Max, fmt.Sprintf("<= %s %s", number(*f.Max), f.Unit)
	case compared:
		over, budget = f.Ours.Median > f.MaxRatio*f.Peer.Median, fmt.Sprintf("<= %sx", number(f.MaxRatio))
	default:
		return "", ""
	}
	if over {
		return "over", budget
	}
	return "ok", budget
}

// brief is a figure for whoever waits.
func (f Figure) brief() string {
	text := f.Name + " " + f.Ours.text(f.Unit)
	if f.Peer != nil {
		text += ", " + f.PeerIs + " " + f.Peer.text(f.Unit)
	}
	return text + parts(f.Parts)
}

func (r Report) table(out io.Writer) {
	fmt.Fprintf(out, "%s; load average %s\nmedian [min..max] n\n\n", r.Machine, r.Load)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "figure\tlazaret\tpeer\tratio\tbudget\t")
	for _, f := range r.Figures {
		peer, ratio := "", ""
		if f.Peer != nil && f.Peer.N > 0 {
			peer = f.Peer.text(f.Unit) + " " + f.PeerIs
			if f.Peer.Median > 0 {
				ratio = fmt.Sprintf("%.2f", f.Ours.Median/f.Peer.Median)
			}
		}
		verdict, budget := f.verdict()
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, f.Ours.text(f.Unit), peer, ratio, budget, verdict)
	}
	_ = w.Flush() // as little to be done about as a failed print
	for _, f := range r.Figures {
		if len(f.Parts) > 0 {
			fmt.Fprintf(out, "\n%s:%s", f.Name, parts(f.Parts))
		}
		if f.Note != "" {
			fmt.Fprintf(out, "\n%s: %s", f.Name, f.Note)
		}
	}
	fmt.Fprintln(out)
}

func parts(p map[string]float64) string {
	var b strings.Builder
	names := make([]string, 0, len(p))
	for name := range p {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, " %s %s", name, number(p[name]))
	}
	return b.String()
}

func (s Sample) text(unit string) string {
	switch s.N {
	case 0:
		return "-"
	case 1:
		return number(s.Median) + " " + unit
	}
	return fmt.Sprintf("%s [%s..%s] %s %d", number(s.Median), number(s.Min), number(s.Max), unit, s.N)
}

func number(v float64) string {
	switch {
	case v == float64(int64(v)) && v < 1e6:
		return fmt.Sprintf("%d", int64(v))
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func describeMachine() string {
	var u unix.Utsname
	release := "unknown kernel"
	if unix.Uname(&u) == nil {
		release = "Linux " + unix.ByteSliceToString(u.Release[:])
	}
	return fmt.Sprintf("%s, %d processors, %s, user id %d", release, goruntime.NumCPU(), goruntime.Version(), os.Getuid())
}

func loadAverage() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:3], " ")
}
