// Package app is the dashboard: the one tea model, where views meet sessions. It owns
// the layout, what an action means, the attachments, and the order of everything
// the developer types.
//
//	terminal ─► tty (reader) ─► Model.Update ─► queue ─► Attachment.Write
//	                              │  ▲
//	            screen ◄── Frame ─┘  └── pump ◄── Attachment.Events
//	              │                        └─► term.Emulator
//	              └─► frame.Writer ─► terminal
//
// Update runs on one goroutine and never blocks: input goes into a bounded queue,
// pictures into a one-place mailbox, everything slow into a command. A pane's
// emulator is fed by its pump and read by Update, under the terminal's own lock.
// While nothing happens no timer of ours runs and no byte is written.
//
// It reaches sessions only through its Sessions interface, and never imports a
// store or a runtime.
package app
