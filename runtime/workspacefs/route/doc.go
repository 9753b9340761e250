// Package route decides, for every name in the workspace, where it lives and what
// the sandbox may do with it. It is pure: it opens nothing and knows no file
// system; who asks says what the host and Domain storage have under the name.
//
// It owns the order of the rules (docs/workspace.md): Git Sentry first, then masks,
// then files whose kind runs on the host, then Ignored Workspace State, then
// sharing. It must never import the file system that asks it.
package route
