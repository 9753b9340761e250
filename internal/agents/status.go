package agents

// State is what an agent says about itself through its hooks. The words travel to
// the client in the sandbox, so they are fixed.
type State string

// The states.
const (
	StateStarted    State = "started"
	StateWorking    State = "working"
	StatePermission State = "permission" // waits for the person to allow something
	StateDone       State = "done"       // waits for the next instruction
	StateError      State = "error"
	StateEnded      State = "ended"
)

// statusCommand is the hook command that reports s. The agent's own description of
// the event is on its standard input; the client reads what it needs of it.
func statusCommand(s State) string { return Client + " status " + string(s) }

// on is one hook: the event's name in the agent's words, what it matches, and the
// state it means.
type on struct {
	event, matcher string
	state          State
}

// hook is one event's entry in the notation Claude Code, Codex and Gemini share.
type hook struct {
	Matcher string        `json:"matcher,omitempty"`
	Hooks   []hookCommand `json:"hooks"`
}

type hookCommand struct {
	Name    string `json:"name,omitempty"`
	Type    string `json:"type"`
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty"`
}

// hooks lists events in that notation. named adds names, which Gemini wants;
// timeout is in the agent's unit, 0 for its default.
func hooks(events []on, named bool, timeout int) map[string][]hook {
	out := map[string][]hook{}
	for _, e := range events {
		c := hookCommand{Type: "command", Command: statusCommand(e.state), Timeout: timeout}
		if named {
			c.Name = "lazaret-" + string(e.state)
		}
		out[e.event] = append(out[e.event], hook{Matcher: e.matcher, Hooks: []hookCommand{c}})
	}
	return out
}
