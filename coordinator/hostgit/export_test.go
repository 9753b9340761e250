package hostgit

// Dropping returns r without the settings and variables that drop names.
func (r Repo) Dropping(drop func(name string) bool) Repo {
	r.drop = drop
	return r
}
