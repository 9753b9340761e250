package route_test

import (
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// ignored is the kind of rules that people have.
const ignored = "# build\n/bin/\n/dist/\n*.o\n*.a\n*.so\n*.py[cod]\n__pycache__/\nnode_modules/\n.cache/\n.env\n.env.*\n!.env.example\n" +
	"coverage/\n*.log\nnpm-debug.log*\n.idea/\n*.swp\n*~\n.DS_Store\ntarget/\n"

func BenchmarkName(b *testing.B) {
	for name, rules := range map[string]string{"no-rules": "", "usual-rules": ignored} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, usual, map[string]string{".gitignore": rules, "src/components/a": "x", ".git/HEAD": "x", ".git/objects/3a/x": "x"})
			src, objects := w.enter("src/components"), w.enter(".git/objects/3a")
			for _, at := range []struct {
				name, file string
				dir        route.Directory
			}{{"tree", "ordinary_name_of_file.ts", src}, {"git", "7bd8f0c8a0b8a4a4d3f0a4a4d3f0a4a4d3f0a4", objects}} {
				b.Run(at.name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						w.policy.Name(at.dir, at.file, route.Names{Host: route.File})
					}
				})
			}
		})
	}
}
