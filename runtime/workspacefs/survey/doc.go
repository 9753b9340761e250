// Package survey looks at the repository of a workspace before the sandbox starts:
// where its git directory is, and whether everything in it is what it seems. A git
// directory whose parts are links would have the rules of package route guard the
// wrong files, so the launch is refused, with what is wrong and what to do.
//
// It also finds the files of the workspace that the host's hooks are links to.
//
// It promises to read a bounded number of entries, to follow no link, and never to
// run git: the configuration of the repository may name programs. It sees the host
// only through Host, and must never import a file system.
package survey
