package credential_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/internal/credential"
	"lazaret.dev/lazaret/runtime"
)

var _ credential.Files = runtime.Sandbox(nil)

const guestPath = "/root/.agent/auth.json"

// fakeDomain is a Domain whose file system is a real directory.
type fakeDomain struct {
	t             *testing.T
	upper         string
	carrier       *credential.Carrier
	writes        int
	profile, root string
}

func newDomain(t *testing.T, profile string) *fakeDomain {
	t.Helper()
	d := &fakeDomain{t: t, upper: t.TempDir(), profile: profile, root: t.TempDir()}
	d.carrier = credential.New(profile, d.root, guestPath)
	return d
}

func (d *fakeDomain) at(path string) string { return filepath.Join(d.upper, path) }

func (d *fakeDomain) ReadFile(_ context.Context, path string, limit int) ([]byte, error) {
	f, err := os.OpenFile(d.at(path), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	return io.ReadAll(io.LimitReader(f, int64(limit)))
}

func (d *fakeDomain) WriteFile(_ context.Context, path string, mode uint32, data []byte) error {
	d.writes++
	if mode != 0o600 {
		d.t.Errorf("login written with mode %o", mode)
	}
	return d.replace(path, data)
}

// replace is how agents refresh a login: a new file, renamed over the old one.
func (d *fakeDomain) replace(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(d.at(path)), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(d.at(path)+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(d.at(path)+".new", d.at(path))
}

// login is the agent logging in or refreshing: the token is new each time.
func (d *fakeDomain) login(token string) {
	d.t.Helper()
	if err := d.replace(guestPath, []byte(`{"token":"`+token+`"}`)); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fakeDomain) bring() {
	d.t.Helper()
	if err := d.carrier.Bring(context.Background(), d); err != nil {
		d.t.Fatalf("Bring: %v", err)
	}
}

func (d *fakeDomain) take(want bool) {
	d.t.Helper()
	taken, err := d.carrier.Take(context.Background(), d)
	if err != nil || taken != want {
		d.t.Fatalf("Take = %v, %v, want %v", taken, err, want)
	}
}

func (d *fakeDomain) wantInside(token string) {
	d.t.Helper()
	data, err := os.ReadFile(d.at(guestPath))
	if want := `{"token":"` + token + `"}`; err != nil || string(data) != want {
		d.t.Fatalf("the Domain has %q, %v, want %s", data, err, want)
	}
}

func (d *fakeDomain) wantSaved(token string) {
	d.t.Helper()
	path := filepath.Join(d.profile, "credential")
	data, err := os.ReadFile(path)
	if want := `{"token":"` + token + `"}`; err != nil || string(data) != want {
		d.t.Fatalf("the profile has %q, %v, want %s", data, err, want)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		d.t.Fatalf("the profile's login has mode %v, %v", info.Mode(), err)
	}
}

func TestOneLoginServesAllDomains(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "claude")
	a, b := newDomain(t, profile), newDomain(t, profile)

	a.bring() // nothing anywhere
	a.take(false)
	a.login("one")
	a.take(true)
	a.wantSaved("one")

	b.bring()
	b.wantInside("one")
	b.take(false) // unchanged: nothing to save

	b.login("two") // refreshed by rename
	b.take(true)
	b.take(false)
	b.wantSaved("two")

	a.bring() // a still has the one last carried, so the profile's is newer
	a.wantInside("two")
}

func TestTheLastOneTakenStays(t *testing.T) {
	t.Parallel()
	profile := filepath.Join(t.TempDir(), "codex")
	a, b := newDomain(t, profile), newDomain(t, profile)
	a.login("zero")
	a.take(true)
	b.bring()
	a.login("from-a")
	b.login("from-b")
	a.take(true)
	b.take(true)
	b.wantSaved("from-b")
	a.bring()
	a.wantInside("from-b")
}

// A coordinator that was killed took nothing: the Domain's newer login must not be
// overwritten by the profile's older one at the next launch.
func TestRotatedLoginSurvivesALostCoordinator(t *testing.T) {
	t.Parallel()
	d := newDomain(t, filepath.Join(t.TempDir(), "gemini"))
	d.login("old")
	d.take(true)
	d.login("rotated")
	d.carrier = credential.New(d.profile, d.root, guestPath)
	d.bring()
	d.wantInside("rotated")
	d.wantSaved("rotated")
}

// A State Anchor that was reset has no login; the profile's comes back.
func TestResetDomainGetsTheLoginAgain(t *testing.T) {
	t.Parallel()
	d := newDomain(t, filepath.Join(t.TempDir(), "claude"))
	d.login("one")
	d.take(true)
	if err := os.Remove(d.at(guestPath)); err != nil {
		t.Fatal(err)
	}
	d.take(false)
	d.bring()
	d.wantInside("one")
	writes := d.writes
	d.bring()
	if d.writes != writes {
		t.Error("an unchanged login was written again")
	}
}

func TestHostileLoginsAreNotTaken(t *testing.T) {
	t.Parallel()
	big := append([]byte(`{"token":"`), bytes.Repeat([]byte("x"), credential.MaxBytes)...)
	for name, tc := range map[string]struct {
		make func(path string) error
		want error
	}{
		"too large": {func(p string) error { return os.WriteFile(p, append(big, '"', '}'), 0o600) }, credential.ErrTooLarge},
		"half":      {func(p string) error { return os.WriteFile(p, []byte(`{"token":"tw`), 0o600) }, credential.ErrMalformed},
		"array":     {func(p string) error { return os.WriteFile(p, []byte(`[1]`), 0o600) }, credential.ErrMalformed},
		"null":      {func(p string) error { return os.WriteFile(p, []byte(`null`), 0o600) }, credential.ErrMalformed},
		"binary":    {func(p string) error { return os.WriteFile(p, []byte("{\"a\":\"\xff\"}"), 0o600) }, credential.ErrMalformed},
		"fifo":      {func(p string) error { return unix.Mkfifo(p, 0o600) }, nil},
		"directory": {func(p string) error { return os.Mkdir(p, 0o700) }, nil},
		"link":      {func(p string) error { return os.Symlink("/etc/passwd", p) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDomain(t, filepath.Join(t.TempDir(), "claude"))
			d.login("good")
			d.take(true)
			if err := os.Remove(d.at(guestPath)); err != nil {
				t.Fatal(err)
			}
			if err := tc.make(d.at(guestPath)); err != nil {
				t.Fatal(err)
			}
			taken, err := d.carrier.Take(context.Background(), d)
			if taken || err == nil || tc.want != nil && !errors.Is(err, tc.want) {
				t.Errorf("Take = %v, %v, want %v", taken, err, tc.want)
			}
			if err := d.carrier.Bring(context.Background(), d); err == nil {
				t.Error("Bring accepted it")
			}
			d.wantSaved("good")
		})
	}
}

func TestProfileCopyMustBePrivate(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string) error{
		"readable by others": func(p string) error { return os.Chmod(p, 0o644) },
		"a link": func(p string) error {
			if err := os.Rename(p, p+".real"); err != nil {
				return err
			}
			return os.Symlink(p+".real", p)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			profile := filepath.Join(t.TempDir(), "claude")
			a, b := newDomain(t, profile), newDomain(t, profile)
			a.login("one")
			a.take(true)
			if err := spoil(filepath.Join(profile, "credential")); err != nil {
				t.Fatal(err)
			}
			if err := b.carrier.Bring(context.Background(), b); !errors.Is(err, credential.ErrNotPrivate) {
				t.Errorf("Bring = %v, want ErrNotPrivate", err)
			}
		})
	}
}

func TestNoCredentialPathCarriesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	c := credential.New(filepath.Join(dir, "p"), filepath.Join(dir, "d"), "")
	if err := c.Bring(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if taken, err := c.Take(context.Background(), nil); taken || err != nil {
		t.Errorf("Take = %v, %v", taken, err)
	}
}
