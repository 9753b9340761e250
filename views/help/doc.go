// Package help draws key tables: the full help of a context, and the which-key popup
// while the leader is armed. It knows no key itself; all it shows are rows.
package help
