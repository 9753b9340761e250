package route_test

import (
	"io/fs"
	"testing"

	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

func BenchmarkName(b *testing.B) {
	p, err := route.New(route.Config{Masks: []string{".vscode", ".idea", ".fleet", ".zed", ".vs"}, Secrets: []string{".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
		"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", ".netrc", ".npmrc", ".pypirc", ".git-credentials"}, Read: func(p string, _ int64) ([]byte, error) {
		if p == ".gitignore" {
			return []byte("# build\n/bin/\n/dist/\n*.o\n*.a\n*.so\n*.py[cod]\n__pycache__/\nnode_modules/\n.cache/\n.env\n.env.*\n!.env.example\ncoverage/\n*.log\nnpm-debug.log*\n.idea/\n"), nil
		}
		return nil, fs.ErrNotExist
	}, Look: func(string) route.Kind { return route.None }})
	if err != nil {
		b.Fatal(err)
	}
	d := p.Enter(p.Root(), "src", p.Name(p.Root(), "src", route.Names{Host: route.Dir}), func(string) route.Kind { return route.None })
	d = p.Enter(d, "components", p.Name(d, "components", route.Names{Host: route.Dir}), func(string) route.Kind { return route.None })
	b.ReportAllocs()
	for b.Loop() {
		if p.Name(d, "ordinary_name_of_file.ts", route.Names{Host: route.File}).Class != route.Shared {
			b.Fatal("no")
		}
	}
}
