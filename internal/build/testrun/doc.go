// Command testrun runs Lazaret's test suites and adds them up. Its last line is
// "N passed, N failed, N skipped"; a skipped sandbox test counts as a failure,
// because a sandbox suite that silently tests nothing is worse than a red one.
package main
