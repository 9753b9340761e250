// Package fake is a runtime whose programs are Go functions. It behaves like a
// sandbox (sessions on terminals and pipes, signals, statuses, an end) without
// namespaces, so that a coordinator can be tested in one process. It keeps the
// promises of package runtime and records what was asked of it.
package fake
