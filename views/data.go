package views

import (
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/domain"
)

// PaneID names a pane of this dashboard. It is never reused.
type PaneID int

// PaneState is what a pane's session is doing, as far as the dashboard knows.
type PaneState uint8

// The states of a pane.
const (
	PaneOpening PaneState = iota + 1
	PaneRunning
	PaneClosing // the close ladder is under way
	PaneExited  // ended with a status
	PaneLost    // its sandbox or coordinator ended under it
	PaneFailed  // could not be opened
)

// String names the state for the developer.
func (s PaneState) String() string {
	switch s {
	case PaneOpening:
		return "opening"
	case PaneRunning:
		return "running"
	case PaneClosing:
		return "closing"
	case PaneExited:
		return "exited"
	case PaneLost:
		return "lost"
	case PaneFailed:
		return "not started"
	}
	return "unknown"
}

// Live reports whether a session may still be there.
func (s PaneState) Live() bool { return s <= PaneClosing }

// PaneInfo is a pane as lists and title bars show it. Text in it is sanitised.
type PaneInfo struct {
	ID      PaneID
	Title   string // the program's title, or its command
	Profile string
	Branch  string // of its own work tree, or ""
	Domain  domain.ID
	Session domain.SessionID
	State   PaneState
	Detail  string // exit status, reason of a loss
	Pending int    // requests that wait for a decision
	Bell    bool   // something wanted attention since the pane was last looked at
	Started time.Time
}

// DomainInfo is one Domain with the sessions the dashboard knows of.
type DomainInfo struct {
	ID          domain.ID
	Profile     string
	Workspace   string
	Mode        string
	Generation  string
	Started     time.Time
	NetworkUp   bool
	NetworkWhy  string
	Policy      []string
	Limits      []string
	Lower       string
	Log         string
	Anchors     []string
	Coordinator int
	Known       bool // false until the coordinator has reported
	Panes       []PaneInfo
	Elsewhere   []ForeignSession
	Changes     Changes
}

// ForeignSession is a session of a Domain that another client holds.
type ForeignSession struct {
	Session domain.SessionID
	Command string
	Started time.Time
	Pending int
}

// ProfileInfo is a profile the developer can start.
type ProfileInfo struct {
	Name    string
	Command string // rendered for display
	Agent   string
	Image   string
	Default bool
	Notice  string // for example "untested"
}

// Asked is a request that waits, with the pane it came from.
type Asked struct {
	Pending escalate.Pending
	Pane    PaneID
	Title   string // of that pane, sanitised
}

// Message is one line of the message area.
type Message struct {
	At    time.Time
	Level Level
	Text  string // sanitised
}

// Level is how grave a message is.
type Level uint8

// The levels of a message.
const (
	Info Level = iota + 1
	Warning
	Error
)

// Changes is what sandboxes did in a Domain's workspace since the developer last
// looked.
type Changes struct {
	State     ChangesState
	Why       string   // of ChangesFailed
	Serial    uint64   // which look it is
	Items     []Change // what matters most first
	Forgotten uint64   // changes nothing more is known of
	Waiting   int      // files held back, to be accepted
	More      bool     // more may wait than Waiting
}

// ChangesState is how much of Changes is known.
type ChangesState uint8

// The states of Changes.
const (
	ChangesNone    ChangesState = iota // nobody tells
	ChangesLooking                     // not known yet
	ChangesKnown
	ChangesFailed
)

// Running counts the changes that programs on the host may run.
func (c Changes) Running() int {
	n := 0
	for _, i := range c.Items {
		if i.Mark == ChangeRuns || i.Mark == ChangeScript {
			n++
		}
	}
	return n
}

// Change is what happened to one path. Names are the sandbox's own.
type Change struct {
	Path      string
	From      string // when it was renamed
	Directory bool
	What      string // "created", "changed"
	Mark      ChangeMark
	At        time.Time
}

// ChangeMark says why a change matters.
type ChangeMark uint8

// The marks of a change.
const (
	ChangePlain  ChangeMark = iota
	ChangeRuns              // host tools run or obey it
	ChangeRules             // changes what git ignores
	ChangeScript            // executable, or a build file
)

// String is the mark in a word.
func (m ChangeMark) String() string {
	switch m {
	case ChangeRuns:
		return "runs"
	case ChangeRules:
		return "rules"
	case ChangeScript:
		return "script"
	}
	return ""
}
