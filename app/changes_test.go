package app_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"lazaret.dev/lazaret/app/apptest"
)

const (
	escape   = "\x1b"
	pageDown = "\x1b[6~"
)

// leave presses escape, which has to be told from the start of something longer.
func leave(d *apptest.Driver) {
	d.Type(escape)
	d.Settle()
	d.Settle()
}

func TestListSeenToItsEndCountsAsLookedAt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := apptest.Start(t, 80, 24)
		d.Changes.Set(changed(40, 0))
		d.Leader("d")
		d.Keys("c", "G") // a jump over rows shows neither them nor, so, the end
		leave(d)
		if n := d.Changes.Seen(); n != 0 {
			t.Errorf("%d changes were recorded after a jump", n)
		}
		d.Keys("c", pageDown)
		leave(d)
		if n := d.Changes.Seen(); n != 0 || !strings.Contains(d.Shown(), "40 files") {
			t.Errorf("%d changes were recorded before the end:\n%s", n, d.Shown())
		}
		d.Keys("c", pageDown, pageDown, pageDown)
		leave(d)
		if n := d.Changes.Seen(); n != 40 || !strings.Contains(d.Shown(), "nothing since you last looked") {
			t.Errorf("%d changes were recorded:\n%s", n, d.Shown())
		}
		d.Keys("c")
		if !strings.Contains(d.Shown(), "no change in the workspace to list") {
			t.Errorf("an empty list:\n%s", d.Shown())
		}
	})
}

// What was not on the list is not recorded: another look came while it was open.
func TestOnlyWhatWasListedCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := apptest.Start(t, 80, 24)
		d.Changes.Set(changed(3, 0))
		d.Leader("d")
		d.Keys("c")
		d.Changes.Set(changed(30, 0))
		d.Leader("d")
		leave(d)
		leave(d)
		if n := d.Changes.Seen(); n != 0 || !strings.Contains(d.Shown(), "30 files") {
			t.Errorf("%d changes were recorded:\n%s", n, d.Shown())
		}
	})
}

// A look takes as long as it takes: keys are served meanwhile, and looks asked for
// meanwhile become one.
func TestLookingBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := apptest.Start(t, 80, 24)
		d.Changes.Set(changed(3, 1))
		release := d.Changes.Hold()
		for range 5 {
			d.Leader("d")
			d.Settle()
			if !strings.Contains(d.Shown(), "looking…") {
				t.Fatalf("shown:\n%s", d.Shown())
			}
			leave(d)
		}
		d.Keys("ls\r")
		if got := d.Session(0).Written(); got != "ls\r" {
			t.Errorf("typed %q", got)
		}
		release()
		d.Leader("d")
		d.Settle()
		if n := d.Changes.Looks(); n > 3 || !strings.Contains(d.Shown(), "1 waits to be accepted") {
			t.Errorf("%d looks:\n%s", n, d.Shown())
		}
	})
}

func TestLookThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := apptest.Start(t, 100, 24)
		d.Changes.Set(changed(3, 0))
		d.Leader("d")
		d.Keys("c")
		d.Changes.Fail(errors.New("no space left\x1b[2J"))
		leave(d)
		d.Settle()
		if s := d.Shown(); !strings.Contains(s, "could not be recorded") || !strings.Contains(s, `cannot be told: no space left\x1b[2J`) {
			t.Errorf("shown:\n%s", s)
		}
	})
}
