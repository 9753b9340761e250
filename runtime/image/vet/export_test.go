package vet

// Disable turns one rule off, to show that a test notices.
func (v *Vetter) Disable(rule Rule) { v.skip = func(r Rule) bool { return r == rule } }
