// Package outer is the developer's terminal while the dashboard has it: raw mode and
// the modes it sets, the goroutine that writes pictures, suspension, and the promise
// that whatever happens the terminal is put back. It knows nothing of what is drawn.
package outer
