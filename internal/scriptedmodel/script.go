package scriptedmodel

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Result stands for the last tool result in the text of a Step.
const Result = "{{result}}"

// What is said when there is no step to take.
const (
	Ended  = "The script has ended."
	NoTool = "ok" // to requests without tools: titles, summaries, warm-ups
)

// Step is one turn of the model: exactly one field is set.
type Step struct {
	// Run is a command line for the agent's shell tool.
	Run string `json:"run,omitempty"`
	// Say is text for the user; Result in it is replaced.
	Say string `json:"say,omitempty"`
}

// Script is what the model does, turn by turn.
type Script []Step

// Parse reads a script from a JSON list of steps.
func Parse(b []byte) (Script, error) {
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	var s Script
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("read script: %w", err)
	}
	for i, step := range s {
		if (step.Run == "") == (step.Say == "") {
			return nil, fmt.Errorf("read script: step %d must have either run or say", i+1)
		}
	}
	if len(s) == 0 {
		return nil, errors.New("read script: it has no steps")
	}
	return s, nil
}

// tool is one tool an agent offers.
type tool struct {
	name   string
	schema schema
}

// schema is the part of a JSON schema arguments are filled from.
type schema struct {
	Properties map[string]struct {
		Type json.RawMessage `json:"type"` // a name, or a list of names
		Enum []string        `json:"enum"`
	} `json:"properties"`
	Required []string `json:"required"`
}

// conversation is a request of any dialect.
type conversation struct {
	model  string
	stream bool
	tools  []tool
	turns  int    // the model has taken so far
	result string // of the last tool
}

// answer is one turn: text, or a call.
type answer struct {
	text string
	call *call
}

type call struct {
	id   string // unique in the conversation
	name string
	args string // JSON
}

// shells are the names agents give their shell tool, in the order they are looked for.
var shells = []string{"Bash", "bash", "shell_command", "exec_command", "run_shell_command", "shell", "execute_command", "run_terminal_cmd"}

// next returns the turn that follows c.
func (s Script) next(c conversation) answer {
	switch {
	case len(c.tools) == 0:
		return answer{text: NoTool}
	case c.turns >= len(s):
		return answer{text: Ended}
	}
	step := s[c.turns]
	if step.Run == "" {
		return answer{text: strings.ReplaceAll(step.Say, Result, c.result)}
	}
	for _, name := range shells {
		for _, t := range c.tools {
			if t.name == name {
				return answer{call: &call{id: fmt.Sprintf("call_%d", c.turns+1), name: name, args: t.schema.fill(step.Run)}}
			}
		}
	}
	return answer{text: "No shell tool was offered, only: " + strings.Join(names(c.tools), ", ")}
}

func names(tools []tool) []string {
	out := make([]string, len(tools))
	for i, t := range tools {
		out[i] = t.name
	}
	return out
}

// fill makes the arguments of a shell call: the command where the schema has it,
// and something harmless for whatever else it requires.
func (s schema) fill(command string) string {
	args := map[string]any{}
	for name, p := range s.Properties {
		if name != "command" && name != "cmd" {
			continue
		}
		if strings.Contains(string(p.Type), "array") {
			args[name] = []string{"sh", "-c", command}
		} else {
			args[name] = command
		}
	}
	if len(args) == 0 {
		args["command"] = command
	}
	// Codex looks away from a command after ten seconds unless told to wait.
	if _, offered := s.Properties["yield_time_ms"]; offered {
		args["yield_time_ms"] = 30_000
	}
	for _, name := range s.Required {
		if _, set := args[name]; set {
			continue
		}
		p := s.Properties[name]
		switch kind := string(p.Type); {
		case len(p.Enum) > 0:
			args[name] = p.Enum[0]
		case strings.Contains(kind, "boolean"):
			args[name] = false
		case strings.Contains(kind, "number"), strings.Contains(kind, "integer"):
			args[name] = 60
		case strings.Contains(kind, "array"):
			args[name] = []string{}
		case strings.Contains(kind, "object"):
			args[name] = map[string]any{}
		default:
			args[name] = "scripted"
		}
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings and lists of strings always encode
	}
	return string(b)
}

// text flattens what APIs give as a string, as a list of parts with a text, or as
// an object around either.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String()
	}
	var object struct {
		Content json.RawMessage `json:"content"`
		Output  json.RawMessage `json:"output"`
	}
	if json.Unmarshal(raw, &object) == nil {
		return text(object.Content) + text(object.Output)
	}
	return ""
}
