// Package e2e drives the finished programs as a person does: it starts them in a
// pseudo-terminal, types, and looks at the screen through our own emulator. Its
// tests (build tag sandbox) cover whole user stories on the real sandbox; the
// benchmarks use the same driver.
package e2e
