package main

import (
	"context"

	"lazaret.dev/lazaret/coordinator/changes"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
	"lazaret.dev/lazaret/runtime/workspacefs/route"
	"lazaret.dev/lazaret/views"
)

// dashboardChanges tells the dashboard what sandboxes did in the workspaces.
type dashboardChanges struct{ config *config.Config }

// Look reads what is new in a Domain.
func (d dashboardChanges) Look(ctx context.Context, id domain.ID) (views.Changes, func() error, error) {
	at := plan.DomainRoot(d.config.Storage.DataRoot, id)
	o := changes.Options{Global: globalIgnore()}
	if _, profile, _, err := root.Identity(at); err == nil {
		if p, err := d.config.Profile(profile); err == nil {
			o.Secrets = p.Workspace.Secrets
		}
	}
	r, err := changes.Look(ctx, at, o)
	if err != nil {
		return views.Changes{}, nil, err
	}
	out := views.Changes{Forgotten: r.Forgotten, Waiting: r.Waiting, More: r.More}
	for _, e := range r.Entries {
		out.Items = append(out.Items, shownChange(e))
	}
	return out, r.Seen, nil
}

func shownChange(e journal.Entry) views.Change {
	marks := map[route.Mark]views.ChangeMark{route.Runs: views.ChangeRuns, route.Rules: views.ChangeRules, route.Script: views.ChangeScript}
	return views.Change{Path: e.Path, From: e.From, Directory: e.Directory, What: happened(e), Mark: marks[e.Mark], At: e.Latest.Local()}
}
