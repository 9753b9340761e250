package daemon

import (
	"errors"
	"fmt"
	"sync"

	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
)

// keeper keeps what has to outlive a crash of what the rules know.
type keeper struct {
	policy *route.Policy
	pins   *journal.Pins
	flush  func() error // writes pins durably

	mu    sync.Mutex // held while pins are taken and put
	ended bool
}

// keep takes the pins as they are, to be written soon.
func (k *keeper) keep() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return nil
	}
	return savePins(k.policy.Pins(), k.pins)
}

var errEnded = errors.New("the workspace is being closed")

// expect has the pin of a rule file that the sandbox is about to change written durably.
// It reports whether any answer changed.
func (k *keeper) expect(name string) (outdated bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return false, errEnded
	}
	outdated = k.policy.Expect(name)
	if err = savePins(k.policy.Pins(), k.pins); err == nil {
		err = k.flush()
	}
	if err != nil {
		k.policy.Unexpect(name)
		err = fmt.Errorf("remember %q before it is changed: %w", name, err)
	}
	return outdated, err
}

// end takes the pins as they stay. Nothing is expected any more.
func (k *keeper) end() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	return savePins(k.policy.LastPins(), k.pins)
}
