// Package hostgit runs git on the host without letting the repository, or a sandbox that
// works in it, decide what runs. It is the only place of Lazaret that does.
//
// A repository's configuration can name programs: file system monitors, hooks, filters,
// external diffs, signers, helpers (git-config(1)), and a tracked .gitattributes can send
// any file to them. So every run
//
//   - has an environment of its own: no system-wide and no personal configuration, no
//     pager, editor or question, no network protocol, no replaced objects;
//   - sets what names a program to something harmless, in the place of git's that counts
//     most (GIT_CONFIG_COUNT): the fixed list of overrides, and one for each such variable
//     found in the repository's own files and all they include;
//   - is told where the repository is, and believes no pointer that is not answered by one
//     back, so that nobody's folder can name another repository.
//
// A configuration that cannot be read to its end refuses the run. Filters do not run, so
// with Git LFS the files of a work tree made here are its pointers.
//
// It imports internal/proc and the parser of configuration files; it knows no Domain.
package hostgit
