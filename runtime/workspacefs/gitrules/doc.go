// Package gitrules is the allow-list inside git directories (Git Sentry): for each
// name, whether the sandbox may write it through to the host, only read it, keep it
// in Domain storage, or not have it at all. It also knows which names git takes for
// ".git", and which bytes must not become an index or a reference of the host's.
//
// Everything not listed is read-only if present and cannot be made: new versions of
// git may give new names a meaning.
//
// A decision depends on the Place of a directory, not on its path, so a caller walks
// down with Enter and pays nothing for depth:
//
//	Main ─┬─ objects ── Objects ── info ── ObjectsInfo
//	      ├─ refs ── Refs        ├─ logs ── Logs ── Free
//	      │                      ├─ lost-found, lfs ── Free
//	      ├─ info ── Info        ├─ rebase-merge, sequencer … ── Aside
//	      ├─ worktrees ── Worktrees ── <n> ── Linked (Main without objects)
//	      ├─ modules ── Modules ── <name>/<with>/<slashes> ── Main
//	      └─ hooks and everything unknown ── Sealed
//
// Where the workspace is a linked work tree, the repository begins as Common instead:
// what the main work tree and the others have of their own is read-only.
//
// It is pure and must never import the router or a file system.
package gitrules
