package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"

	"lazaret.dev/lazaret/app"
	"lazaret.dev/lazaret/app/outer"
	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/internal/agents"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/themes"
	"lazaret.dev/lazaret/views"
)

// sessionOpener opens sessions; spawn.Opener is the real one.
type sessionOpener interface {
	Open(ctx context.Context, r spawn.Request, progress func(string)) (*client.Session, error)
}

// newDashboard returns what runs the dashboard for a workspace on the controlling
// terminal, its first session being one of the default profile.
func newDashboard(c *config.Config, workspace string, opener sessionOpener) func(ctx context.Context) error {
	return func(ctx context.Context) error {
		profile := outer.Detect(os.Getenv)
		theme, err := themes.Lookup(c.UI.Theme, os.Getenv("NO_COLOR") != "")
		if err != nil {
			return err
		}
		return dashboardStatus(app.Run(ctx, app.Options{
			Sessions:  &dashboardSessions{config: c, opener: opener},
			Changes:   dashboardChanges{c},
			Workspace: workspace,
			First:     c.DefaultProfile,
			Theme:     theme,
			Leader:    c.UI.Leader,
			Keys:      c.Keys,
			NewEmulator: func(cols, rows int) term.Emulator {
				return term.New(cols, rows, term.Options{Engine: term.Engine(c.UI.Emulator), Scrollback: c.UI.ScrollbackLines})
			},
		}, profile))
	}
}

// dashboardStatus gives the end of the dashboard its exit code.
func dashboardStatus(err error) error {
	var sig *app.SignalError
	if errors.As(err, &sig) {
		return statusError(128 + int(sig.Signal))
	}
	if err != nil {
		return &fault.Error{
			Kind: fault.General, Message: "the dashboard could not run", Err: err,
			Fix: "it needs a terminal; without one use: lazaret run",
		}
	}
	return nil
}

// dashboardSessions opens the dashboard's sessions by way of the coordinators.
type dashboardSessions struct {
	config *config.Config
	opener sessionOpener
}

// Open opens one session. Its terminal is the pane's, whatever the outer one is.
func (s *dashboardSessions) Open(ctx context.Context, req app.OpenRequest, progress func(string)) (app.Attachment, error) {
	session, err := s.opener.Open(ctx, spawn.Request{
		Profile: req.Profile, Workspace: req.Workspace,
		Start: wire.Start{
			Argv: req.Argv, TTY: true, Size: req.Size,
			Env: s.paneVariables(req.Profile),
		},
	}, progress)
	if err != nil {
		return nil, err // not session: a nil *client.Session is no nil Attachment
	}
	return pane{session, keeper(s.config).BranchIn(session.Welcome().Workspace)}, nil
}

// pane is a session in a pane.
type pane struct {
	*client.Session
	branch string
}

// Branch is the branch of the session's own work tree, "" when it has none.
func (p pane) Branch() string { return p.branch }

// paneVariables say what a pane is, whatever terminal the dashboard runs in.
func (s *dashboardSessions) paneVariables(profile string) []string {
	vars := []string{"COLORTERM=truecolor", "TERM=xterm-256color"}
	p := s.config.Profiles[profile]
	own := func(v config.EnvVar) bool { return v.Name == "TERM_PROGRAM" }
	if agent, ok := agents.Lookup(p.Agent); ok && agent.Terminal != "" && !slices.ContainsFunc(p.Env, own) {
		vars = append(vars, "TERM_PROGRAM="+agent.Terminal)
	}
	return vars
}

// Profiles lists what can be started, by name.
func (s *dashboardSessions) Profiles() []views.ProfileInfo {
	var out []views.ProfileInfo
	for name, p := range s.config.Profiles {
		out = append(out, views.ProfileInfo{
			Name: name, Command: views.QuoteArgv(p.Command), Agent: p.Agent, Image: p.Image,
			Default: name == s.config.DefaultProfile,
		})
	}
	slices.SortFunc(out, func(a, b views.ProfileInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}
