package term_test

import (
	"bytes"
	"fmt"
	"testing"

	"lazaret.dev/lazaret/internal/term"
)

// The streams have the shape of what panes get: build output, a coloured log, CJK.
func benchStreams() map[string][]byte {
	var plain, color, wide bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&plain, "%06d the quick brown fox jumps over the lazy dog and runs into the forest\r\n", i)
		fmt.Fprintf(&color, "\x1b[2m12:04:%02d\x1b[0m \x1b[1;32mINFO\x1b[0m \x1b[38;5;%dmmodule.%d\x1b[0m request \x1b[36mid=%d\x1b[0m done\r\n", i%60, i%256, i%20, i)
		fmt.Fprintf(&wide, "日本語のテキスト %d 👩\u200d🚀 e\u0301 ⚠\ufe0f 漢字\r\n", i)
	}
	return map[string][]byte{"plain": plain.Bytes(), "color": color.Bytes(), "wide": wide.Bytes()}
}

func BenchmarkWrite(b *testing.B) {
	for _, en := range engines {
		for _, name := range []string{"plain", "color", "wide"} {
			data := benchStreams()[name]
			b.Run(string(en)+"/"+name, func(b *testing.B) {
				e := term.New(200, 60, term.Options{Engine: en})
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					for i := 0; i < len(data); i += 4096 {
						e.Write(data[i:min(i+4096, len(data))])
					}
				}
			})
		}
	}
}

func BenchmarkFrame(b *testing.B) {
	for _, en := range engines {
		b.Run(string(en), func(b *testing.B) {
			e := term.New(200, 60, term.Options{Engine: en})
			e.Write(benchStreams()["color"])
			b.ReportAllocs()
			for b.Loop() {
				e.Frame(0)
			}
		})
	}
}
