package supervisor

import (
	"errors"
	"io"
	"strings"
	"testing"

	"lazaret.dev/lazaret/internal/fault"
)

func TestFailuresCrossTheChannel(t *testing.T) {
	t.Parallel()
	cause := &fault.Error{Kind: fault.Config, Message: "bad", Fix: "do this", Err: errors.New("why")}
	err := failure(cause).err()
	if fault.KindOf(err) != fault.Config || fault.FixOf(err) != "do this" || err.Error() != "bad: why" {
		t.Errorf("got %v, fix %q", err, fault.FixOf(err))
	}
	if err := failure(errors.New("plain")).err(); err.Error() != "plain" || fault.KindOf(err) != fault.General {
		t.Errorf("got %v", err)
	}
}

func TestTailKeepsTheEndInOneLine(t *testing.T) {
	t.Parallel()
	text, err := newTail()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(text.w, strings.Repeat("x", 2*maxTail)+"\n\x1b[31mend\n"); err != nil {
		t.Fatal(err)
	}
	text.started()
	<-text.done
	if got := text.text(); len(got) > maxTail || !strings.HasSuffix(got, " [31mend") || strings.ContainsAny(got, "\n\x1b") {
		t.Errorf("%d bytes, ends %q", len(got), got[len(got)-20:])
	}
}

// TestTheHostWorksOnDuringAStart: what it changes meanwhile is reported between the
// answers of a start.
func TestTheHostWorksOnDuringAStart(t *testing.T) {
	t.Parallel()
	ours, theirs, err := newChannelPair()
	if err != nil {
		t.Fatal(err)
	}
	hc, err := openChannel(ours)
	if err != nil {
		t.Fatal(err)
	}
	defer hc.close()
	rs, err := openChannel(theirs)
	if err != nil {
		t.Fatal(err)
	}
	defer rs.close()
	for _, m := range []message{{Kind: kindChanged, Text: "a"}, {Kind: kindChanged, Text: "b"}, {Kind: kindInventoried}} {
		if err := rs.send(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := (&boot{channel: hc}).takeInventory(); err != nil {
		t.Error(err)
	}
}
