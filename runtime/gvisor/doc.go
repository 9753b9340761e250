// Package gvisor is the only place that knows runsc's command line, and how to call
// the control server of a sentry that runs.
//
// It owns the flags every sandbox is started with and asserts them against what a
// running sentry was really given. It promises never to pass a flag that opens the
// host: no --rootless, no host network, no host sockets or FIFOs, no in-memory
// overlay that would swallow a State Anchor's writes.
//
// It starts nothing itself but the probe of a foreign runsc.
package gvisor
