//go:build sandbox

package e2e_test

import (
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/e2e"
	"lazaret.dev/lazaret/internal/sandboxtest"
)

// TestDashboardTellsWhatChanged: the status of the Domain counts what was written inside,
// the list names it, and what was listed is not new any more, on the command line either.
func TestDashboardTellsWhatChanged(t *testing.T) {
	t.Parallel()
	h := e2e.NewHome(t)
	term := h.Terminal(100, 30)
	shows(t, term, "#")
	typed(t, term, "echo all: > Makefile; echo x > notes; echo KEY=1 > .env; echo wri''tten\r")
	shows(t, term, "written")
	listed := func() string { return h.Lazaret("state", "changes", "--since", "looked").Stdout }
	sandboxtest.Await(t, e2e.Patience, "a journal with both files", func() bool {
		return strings.Contains(listed(), "Makefile") && strings.Contains(listed(), "notes")
	})
	typed(t, term, "\x07d")
	shows(t, term, "2 files (1 runs on the host)")
	shows(t, term, "1 waits to be accepted")
	typed(t, term, "c")
	shows(t, term, "created  script  Makefile")
	typed(t, term, "q")
	shows(t, term, "nothing since you last looked")
	if got := listed(); !strings.Contains(got, "changed nothing") {
		t.Errorf("lazaret state still lists\n%s", got)
	}
	typed(t, term, "q\x07q")
	shows(t, term, "Quit and end")
	typed(t, term, "y")
	ends(t, term, 0)
}
