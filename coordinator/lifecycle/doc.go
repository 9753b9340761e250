// Package lifecycle is the life of one Domain generation as a pure function:
// a state and an event give the next state and what has to be done. The server
// runs it, and its tests explore every order of events it can meet.
//
//	Starting ── Launched ──► Running ── last session gone ──► Stopping ── Stopped ──► Ended
//	    │                       │ no first client in time ──►    ▲
//	    │                       │ sandbox ended, Shutdown ──►────┘
//	    └── LaunchFailed ─────────────────────────────────────────────────────────► Ended
//
// A state never goes back. It opens nothing, holds no clock and imports only
// internal/domain.
package lifecycle
