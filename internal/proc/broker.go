package proc

import (
	goruntime "runtime"
	"sync"
)

// broker is the goroutine on whose OS thread every child is started. The thread
// is a property of the process, as its children are, so there is exactly one;
// it starts with the first use and never ends.
var broker = sync.OnceValue(func() chan<- func() {
	work := make(chan func()) // unbuffered: callers wait for their own turn
	go func() {
		goruntime.LockOSThread() // never unlocked: the thread must outlive every child
		for f := range work {
			f()
		}
	}()
	return work
})

// onBroker runs f on the broker's thread and returns when it has run.
func onBroker(f func()) {
	done := make(chan struct{})
	broker() <- func() {
		defer close(done)
		f()
	}
	<-done
}
