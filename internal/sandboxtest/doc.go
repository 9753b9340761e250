// Package sandboxtest gives the sandbox suites what `make test` prepared: the
// built programs, an image layout, and a Storage Root with that image unpacked
// for the current account. It fails a test rather than skip it.
package sandboxtest
