package desk_test

import (
	"os"
	"testing"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/escalate/desk"
	"lazaret.dev/lazaret/runtime"
)

// TestWhoseRequestsAreTaken: what a guest user's file looks like from outside
// depends on the mode. The files of this test belong to whoever runs it.
func TestWhoseRequestsAreTaken(t *testing.T) {
	t.Parallel()
	self := uint32(os.Geteuid())
	beside := runtime.IDRange{Host: self + 1, Count: 65536}
	for name, ids := range map[string]runtime.IDs{
		"root: the guest's own numbers": {
			Mode: runtime.ModeRoot,
			UIDs: runtime.IDRange{Host: 0x70000000, Count: self + 1}, GIDs: runtime.IDRange{Host: 0x70000000, Count: self + 1},
		},
		"subordinate: ourselves": {Mode: runtime.ModeSubordinate, UIDs: beside, GIDs: beside},
		"single: ourselves":      {Mode: runtime.ModeSingle},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t, func(c *desk.Config) { c.IDs = ids })
			g := h.session(t)
			a := g.ask(t, "--", "true")
			g.approve(t)
			g.expect(t, escalate.OutcomeRan)
			a.wait(t, 0)
		})
	}
	t.Run("root: a number of no guest", func(t *testing.T) {
		t.Parallel()
		// The range ends just below whoever runs this.
		h := open(t, func(c *desk.Config) {
			c.IDs = runtime.IDs{Mode: runtime.ModeRoot, UIDs: runtime.IDRange{Host: 0x70000000, Count: self}}
		})
		g := h.session(t)
		g.ask(t, "--", "true")
		until(t, "the entry to be taken away", func() bool {
			left, err := os.ReadDir(h.base + "/requests")
			return err == nil && len(left) == 0
		})
		if p := h.Pending(g.id); len(p) != 0 {
			t.Errorf("shown: %+v", p)
		}
	})
}
