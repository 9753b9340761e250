package attach

import "testing"

func TestModesSurviveAnyChunking(t *testing.T) {
	t.Parallel()
	const output = "a\x1b[1;31mb\x1b[?1049h\x1b[?1000;1006h\x1b]0;\x1b[?25l\x1b[?7l\x1b[?2026h\x1b[?1000l\x1b[?99\x1b[?2004h"
	const off = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1006l\x1b[?1049l\x1b[?2004l"
	const on = "\x1b[?7l\x1b[?25l\x1b[?1006h\x1b[?1049h\x1b[?2004h"
	for size := 1; size <= len(output); size++ {
		var m modes
		for i := 0; i < len(output); i += size {
			m.observe([]byte(output[i:min(i+size, len(output))]))
		}
		if got := m.suspend(); got != off {
			t.Errorf("chunks of %d: suspend %q, want %q", size, got, off)
		}
		if got := m.resume(); got != on {
			t.Errorf("chunks of %d: resume %q, want %q", size, got, on)
		}
	}
}

func FuzzModes(f *testing.F) {
	f.Add([]byte("\x1b[?1049h\x1b[?25"), 3)
	f.Fuzz(func(t *testing.T, data []byte, cut int) {
		if cut < 0 || cut > len(data) {
			return
		}
		var whole, parts modes
		whole.observe(data)
		parts.observe(data[:cut])
		parts.observe(data[cut:])
		if whole.suspend() != parts.suspend() {
			t.Errorf("whole %q, in parts %q", whole.suspend(), parts.suspend())
		}
	})
}
