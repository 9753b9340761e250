// Package spawn finds the live Host Coordinator of a Domain or starts one, and
// opens a session with it.
//
//	connect ── answers ──► session
//	   │ nobody there, or "being torn down"
//	   ▼
//	start.lock (waits for another starter) ── connect again ── answers ──► session
//	   │ nobody there
//	   ▼
//	domain.lock (waits for a coordinator that is going down)
//	   │
//	start coordinator, handing the locked domain.lock over ── reports ──► Ready
//	   │
//	connect ──► session;  start.lock is let go only now (hold-to-bind)
//
// Nothing here sleeps or polls: locks and a pipe wake it. It imports no concrete
// runtime; what a coordinator is started with comes from package plan.
package spawn
