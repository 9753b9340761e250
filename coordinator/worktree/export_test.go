package worktree

// Crash ends a lease as the death of its process does.
func (l *Lease) Crash() { unlock(l.lock) }

// SetBack makes the record say again that the work tree is being made, or removed.
func (l *Lease) SetBack(toRemoving bool) error {
	r, err := l.keeper.read(l.Name)
	if err != nil {
		return err
	}
	r.Stage = making
	if toRemoving {
		r.Stage = removing
	}
	return l.keeper.write(r)
}
