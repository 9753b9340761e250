// Command bench is `make bench`: what Lazaret costs, each figure taken in turn with
// the same thing done without it, in one run. It prints a table and writes one JSON
// document.
//
// It owns the budgets. It judges by them in the table only: a busy machine must not
// make a build red. It promises to end what it starts, and to leave behind only the
// prepared image in the user's cache.
//
// It drives the finished programs; nothing may import it.
package main
