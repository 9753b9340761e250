// Package fleet lists the Domains with their sessions: where each is, what it does,
// and which of them needs the developer.
package fleet
