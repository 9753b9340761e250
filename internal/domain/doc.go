// Package domain names the things every other package talks about: Domains,
// generations, sessions, clients and requests. It owns their formats and how
// they are derived or drawn; it holds no state and imports nothing of Lazaret.
package domain
