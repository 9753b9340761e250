package main

import (
	"slices"
	"testing"

	"lazaret.dev/lazaret/internal/config"
)

// A pane names a terminal only for the agent that needs a name, and the profile's
// own choice stands.
func TestPaneVariables(t *testing.T) {
	t.Parallel()
	own := []config.EnvVar{{Name: "TERM_PROGRAM", Value: "mine"}}
	s := &dashboardSessions{config: &config.Config{Profiles: map[string]config.Profile{
		"claude": {Agent: "claude"}, "own": {Agent: "claude", Env: own}, "codex": {Agent: "codex"}, "shell": {},
	}}}
	for profile, named := range map[string]bool{"claude": true, "own": false, "codex": false, "shell": false} {
		vars := s.paneVariables(profile)
		if slices.Contains(vars, "TERM_PROGRAM=ghostty") != named || !slices.Contains(vars, "COLORTERM=truecolor") {
			t.Errorf("%s: %q", profile, vars)
		}
	}
}
