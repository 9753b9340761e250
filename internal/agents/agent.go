package agents

import (
	"sort"

	"lazaret.dev/lazaret/runtime"
)

// Agent is one recipe. Its slices are shared: do not change them.
type Agent struct {
	Name  string
	Title string // for pickers
	// Install is shell text that is run once per Domain as guest root, with the
	// Domain's own network; it may be run again and then does nothing.
	Install string
	Command []string // what a session runs
	Env     []Var
	// Terminal is the TERM_PROGRAM a pane of ours calls itself for this agent, ""
	// for none: some agents use keys and notifications that panes understand only
	// with terminals they know by name.
	Terminal string
	// Files are shown read-only beneath the State Anchors: settings, status hooks
	// and the instruction about asking the host.
	Files []runtime.GuestFile
	// Credential is the guest path of the one file that is its login.
	Credential string
	// Untested means Lazaret's developers could not run it.
	Untested bool
}

// Var is one environment variable.
type Var struct{ Name, Value string }

// Lookup returns the recipe called name.
func Lookup(name string) (Agent, bool) {
	build, ok := recipes[name]
	if !ok {
		return Agent{}, false
	}
	return build(), true
}

// Names returns the names of all recipes, sorted.
func Names() []string {
	out := make([]string, 0, len(recipes))
	for name := range recipes {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// recipes is the closed list.
var recipes = map[string]func() Agent{
	"claude":   claude,
	"codex":    codex,
	"gemini":   gemini,
	"opencode": opencode,
	"aider":    aider,
}
