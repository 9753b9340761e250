package config_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
)

// The file `lazaret init` writes must change nothing, or its comments lie.
func TestTemplateIsTheDefaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	bare := w.mustLoad()
	if err := config.WriteTemplate(w.userFile()); err != nil {
		t.Fatal(err)
	}
	full := w.mustLoad()
	want := map[string]string{}
	for _, e := range bare.Entries() {
		want[e.Key] = e.Text()
	}
	for _, e := range full.Entries() {
		if want[e.Key] != e.Text() {
			t.Errorf("%s = %s, the default is %s", e.Key, e.Text(), want[e.Key])
		}
		delete(want, e.Key)
	}
	for key := range want {
		t.Errorf("%s is gone", key)
	}
	if errs := full.Check(); len(errs) > 0 {
		t.Error(errs)
	}
	if info, err := os.Stat(w.userFile()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// Uncommenting any line of it must still give a configuration that is accepted.
func TestTemplateExamplesAreValid(t *testing.T) {
	t.Parallel()
	commented := regexp.MustCompile(`(?m)^# ([a-z_]+ = |\[profiles\.)`)
	text := commented.ReplaceAllString(config.Template, "$1")
	if text == config.Template {
		t.Fatal("no commented settings found")
	}
	w := newWorld(t).user(text)
	w.mkdir(w.home + "/datasets")
	if errs := w.mustLoad().Check(); len(errs) > 0 {
		t.Error(errs)
	}
}

func TestTemplateNeverOverwrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t).user("# mine\n")
	err := config.WriteTemplate(w.userFile())
	wantRefused(t, err, fault.Config, w.userFile(), "exists", "--print")
	if data, _ := os.ReadFile(w.userFile()); string(data) != "# mine\n" {
		t.Errorf("the file was changed: %q", data)
	}
	// Not through a link either.
	w = newWorld(t)
	w.mkdir(w.home + "/.config/lazaret")
	if err := os.Symlink(w.home+"/elsewhere", w.userFile()); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, config.WriteTemplate(w.userFile()), fault.Config, "exists")
	if _, err := os.Lstat(w.home + "/elsewhere"); err == nil {
		t.Error("written through the link")
	}
}

// The table in the documentation and the table in the code name the same keys.
func TestDocumentationNamesEveryKey(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.A-Z]+)`").FindAllStringSubmatch(string(data), -1) {
		documented[m[1]] = true
	}
	for _, key := range config.Keys() {
		key = strings.NewReplacer("profiles.*", "profiles.NAME", "env.*", "env.NAME", "keys.*", "keys.ACTION").Replace(key)
		if !documented[key] {
			t.Errorf("docs/configuration.md lacks %s", key)
		}
		delete(documented, key)
	}
	for key := range documented {
		t.Errorf("docs/configuration.md names %s, which is not a key", key)
	}
}
