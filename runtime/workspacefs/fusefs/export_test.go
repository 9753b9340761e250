package fusefs

// WithoutExpiry makes the kernel one that cannot let names expire (before Linux 6.2).
func (fs *FS) WithoutExpiry() {
	for _, v := range fs.views {
		v.notifier.mu.Lock()
		v.notifier.expire = false
		v.notifier.mu.Unlock()
	}
}
