// Package runtime is the contract between a Host Coordinator and whatever runs
// an Agent Sandbox: what one Domain generation is given (Spec), and what can be
// asked of it while it lives (Sandbox, Process). It knows no runsc, no namespace
// and no file system; those live below it, in supervisor, gvisor, bundle, anchor,
// netpolicy and guest. It imports only internal/domain.
package runtime
