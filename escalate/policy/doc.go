// Package policy judges requests: whether one may be shown at all, which program
// on the host it means, what of it the sandbox can write and has written, and what
// the developer must be told. A Plan is its answer, and Bind its last word just
// before the start: what was shown is what runs, or nothing does.
//
// It reads the workspace, whose every path may be hostile: it opens beneath the
// workspace's own descriptor and never waits for a file. It runs nothing, decides
// nothing for the developer, and never imports coordinator, app or views.
package policy
