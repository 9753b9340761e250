// Package archtest holds Lazaret's architecture as tests: who may import whom,
// and that docs/requirements.md names a living test for every requirement. It has
// no code of its own beyond reading the tree.
package archtest
