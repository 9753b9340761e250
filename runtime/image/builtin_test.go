package image_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
)

// These tests put a program of their own in the place of mmdebstrap, so they
// change PATH and do not run in parallel.

// standIn makes PATH hold a mmdebstrap that runs script, and the other named
// tools doing nothing.
func standIn(t *testing.T, script string, tools ...string) {
	t.Helper()
	if _, err := os.Stat("/usr/share/keyrings/debian-archive-keyring.gpg"); err != nil {
		t.Fatalf("the package debian-archive-keyring is needed: %v", err)
	}
	bin := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if script != "" {
		write("mmdebstrap", script)
	}
	for _, tool := range tools {
		write(tool, "exit 0\n")
	}
	t.Setenv("PATH", bin)
	t.Setenv("TMPDIR", "")
}

func building(t *testing.T, mode runtime.Mode) image.BuildOptions {
	t.Helper()
	return image.BuildOptions{Output: filepath.Join(t.TempDir(), "layout"), IDs: runtime.IDs{Mode: mode}}
}

func TestBuildWritesALayout(t *testing.T) {
	status := "Package: bash\nVersion: 5.2\n\nPackage: adduser\nStatus: x\nVersion: 3.1\n"
	archive := filepath.Join(t.TempDir(), "archive.tar")
	if err := os.WriteFile(archive, archived(dir("./var/lib/dpkg"), reg("./var/lib/dpkg/status", status)), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(t.TempDir(), "seen")
	standIn(t, fmt.Sprintf("printf '%%s\\n' \"$@\" >%s\nenv >>%s\necho 'I: one' >&2; echo 'I: two' >&2\nexec /bin/cat %s\n", seen, seen, archive))
	t.Setenv("SECRET", "hidden")
	o := building(t, runtime.ModeSubordinate)
	var steps int64
	o.Progress = func(stage string, done, _ int64) {
		if stage == image.StageBuild {
			steps = done
		}
	}
	digest, err := image.Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if steps != 2 {
		t.Errorf("%d steps were reported", steps)
	}
	manifest, config, ids, err := resolve(t, "oci:"+o.Output+":lazaret")
	if err != nil || manifest != digest || len(ids) != 1 {
		t.Fatalf("%q, %q, %v", manifest, digest, err)
	}
	b, err := os.ReadFile(filepath.Join(o.Output, "blobs/sha256", config[7:]))
	if err != nil {
		t.Fatal(err)
	}
	var conf struct {
		Config struct {
			Env    []string
			Labels map[string]string
		} `json:"config"`
	}
	if err := json.Unmarshal(b, &conf); err != nil {
		t.Fatal(err)
	}
	if got := conf.Config.Labels["dev.lazaret.packages"]; got != "adduser=3.1\nbash=5.2" {
		t.Errorf("packages: %q", got)
	}
	called, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"--mode=unshare\n", "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg\n", "SOURCE_DATE_EPOCH=", "TMPDIR=/var/tmp\n", "--dpkgopt=path-exclude=/usr/share/man/*\n", "-security main\n"} {
		if !strings.Contains(string(called), want) {
			t.Errorf("mmdebstrap was called without %q", want)
		}
	}
	if strings.Contains(string(called), "SECRET") {
		t.Error("mmdebstrap was given the whole environment")
	}
}

func TestBuildTwiceGivesTheSame(t *testing.T) {
	archive := filepath.Join(t.TempDir(), "archive.tar")
	if err := os.WriteFile(archive, archived(reg("f", strings.Repeat("text", 100_000))), 0o644); err != nil {
		t.Fatal(err)
	}
	standIn(t, "exec /bin/cat "+archive+"\n")
	one, err1 := image.Build(t.Context(), building(t, runtime.ModeSubordinate))
	two, err2 := image.Build(t.Context(), building(t, runtime.ModeSubordinate))
	if one != two || err1 != nil || err2 != nil {
		t.Errorf("%q and %q, %v, %v", one, two, err1, err2)
	}
}

func TestBuildFailures(t *testing.T) {
	good := archived(reg("f", "x"))
	archive := filepath.Join(t.TempDir(), "archive.tar")
	if err := os.WriteFile(archive, good, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		script string
		tools  []string
		mode   runtime.Mode
		kind   fault.Kind
		want   string
	}{
		"not installed":      {"", nil, runtime.ModeSubordinate, fault.Host, "mmdebstrap"},
		"no mirror":          {"echo 'E: \x1b[31mno mirror' >&2; exit 25\n", nil, runtime.ModeSubordinate, fault.Image, `E: \x1b[31mno mirror`},
		"ends in the middle": {"/usr/bin/head -c 700 " + archive + "; exit 1\n", nil, runtime.ModeSubordinate, fault.Image, "exit status 1"},
		"killed":             {"kill -9 $$\n", nil, runtime.ModeSubordinate, fault.Image, "signal 9"},
		"single id":          {"exec /bin/cat " + archive + "\n", []string{"fakeroot"}, runtime.ModeSingle, fault.Host, "fakechroot"},
	} {
		t.Run(name, func(t *testing.T) {
			standIn(t, c.script, c.tools...)
			o := building(t, c.mode)
			_, err := image.Build(t.Context(), o)
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.want) || fault.FixOf(err) == "" {
				t.Errorf("%v (fix %q)", err, fault.FixOf(err))
			}
			if _, err := os.Lstat(o.Output); err == nil {
				t.Error("something was left behind")
			}
		})
	}
	t.Run("single id with the tools", func(t *testing.T) {
		standIn(t, "exec /bin/cat "+archive+"\n", "fakechroot", "fakeroot")
		if _, err := image.Build(t.Context(), building(t, runtime.ModeSingle)); err != nil {
			t.Error(err)
		}
	})
}

func TestBuildKeepsWhatIsThere(t *testing.T) {
	standIn(t, "exit 1\n")
	o := building(t, runtime.ModeSubordinate)
	put(t, o.Output, "mine", []byte("x"))
	if _, err := image.Build(t.Context(), o); fault.KindOf(err) != fault.Usage {
		t.Errorf("into a full directory: %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Output, "mine")); err != nil {
		t.Error(err)
	}
}

func TestBuildCancelled(t *testing.T) {
	// It asks to be waited for and ends when told to.
	standIn(t, "echo 'I: ready' >&2\ntrap 'exit 143' TERM\nwhile :; do /bin/sleep 60 & wait $!; done\n")
	ctx, cancel := context.WithCancel(t.Context())
	o := building(t, runtime.ModeSubordinate)
	o.Progress = func(string, int64, int64) { cancel() }
	if _, err := image.Build(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(o.Output); err == nil {
		t.Error("something was left behind")
	}
}

func TestGuestSources(t *testing.T) {
	t.Parallel()
	const ours = "" // mmdebstrap's own
	for name, c := range map[string]struct {
		text   string
		deb822 bool
		want   string
	}{
		"nothing":       {"", false, ours},
		"one line":      {"# x\ndeb [signed-by=/k] https://mirror.example/debian/ trixie main contrib\n", false, "deb https://mirror.example/debian trixie main"},
		"deb822":        {"Types: deb deb-src\nURIs: http://m.example/d\nSuites: trixie trixie-updates\nComponents: main\n", true, "deb http://m.example/d trixie main"},
		"other suite":   {"deb http://mirror.example/debian sid main\n", false, ours},
		"disabled":      {"Enabled: no\nTypes: deb\nURIs: http://m.example/d\nSuites: trixie\n", true, ours},
		"only sources":  {"Types: deb-src\nURIs: http://m.example/d\nSuites: trixie\n", true, ours},
		"cdrom":         {"deb cdrom:[x]/ trixie main\n", false, ours},
		"with password": {"deb http://u:p@m.example/d trixie main\n", false, ours},
		"no components": {"deb http://m.example/d trixie\n", false, ours},
	} {
		got := image.Learn("trixie", c.text, c.deb822)
		if c.want == ours && len(got) == 0 {
			continue
		}
		if len(got) != 3 || got[0] != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	const release = "deb http://m.example/debian trixie main\n"
	for text, want := range map[string]string{
		release: "deb http://m.example/debian-security trixie-security main",
		release + "deb http://s.example/sec trixie-security main\n": "deb http://s.example/sec trixie-security main",
	} {
		if got := image.Learn("trixie", text, false); len(got) != 3 || got[2] != want {
			t.Errorf("security of %q: %q", text, got)
		}
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`plain "text"`: `plain "text"`, "\x1b[31m": `\x1b[31m`, "a\nb": `a\nb`, "\u202e": `\u202e`, "\xff": `\xff`,
	} {
		if got := image.Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
