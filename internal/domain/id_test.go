package domain_test

import (
	"errors"
	"testing"

	"lazaret.dev/lazaret/internal/domain"
)

func TestIdentifyIsStable(t *testing.T) {
	t.Parallel()
	id, sum := domain.Identify("shell", "/home/dev/project")
	again, _ := domain.Identify("shell", "/home/dev/project")
	if id != again || id != sum.ID() || len(id) != 12 {
		t.Fatalf("Identify is not stable: %q, %q, %q", id, again, sum.ID())
	}
	other, _ := domain.Identify("claude", "/home/dev/project")
	if other == id {
		t.Fatal("two profiles of one workspace share a Domain")
	}
	// printf 'shell:/home/dev/project' | sha256sum
	if want := domain.ID("646eb596abfb"); id != want {
		t.Fatalf("Identify = %q, want %q", id, want)
	}
}

func TestParseRequestIDRefusesForeignNames(t *testing.T) {
	t.Parallel()
	good := string(domain.NewRequestID())
	if _, err := domain.ParseRequestID(good); err != nil {
		t.Fatalf("ParseRequestID(%q): %v", good, err)
	}
	for _, bad := range []string{"", "..", good[1:], good + "0", "../" + good[3:], "G" + good[1:], "A" + good[1:]} {
		if _, err := domain.ParseRequestID(bad); !errors.Is(err, domain.ErrMalformedID) {
			t.Errorf("ParseRequestID(%q) = %v, want ErrMalformedID", bad, err)
		}
	}
}
