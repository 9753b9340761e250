package main

import (
	"context"
	"crypto/ed25519"
	"io"
	"os"
	"path/filepath"
	"time"

	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/server"
	"lazaret.dev/lazaret/escalate/desk"
	"lazaret.dev/lazaret/escalate/sign"
	"lazaret.dev/lazaret/internal/credential"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/runtime"
	"lazaret.dev/lazaret/runtime/image"
	"lazaret.dev/lazaret/runtime/supervisor"
	"lazaret.dev/lazaret/runtime/workspacefs/journal"
)

// coordinatorMain is the Host Coordinator's process with the real parts.
func coordinatorMain([]string) int {
	return server.Main(server.Wiring{
		Launcher: supervisor.NewLauncher(),
		Lease:    leaseLower,
		Trust: func(g server.Generation) (server.Trust, error) {
			return sign.NewAuthority(g.Plan.Domain, g.ID)
		},
		Desk:    openDesk,
		Carrier: newCarrier,
	})
}

func leaseLower(p plan.Plan) (io.Closer, error) {
	return image.Lease(image.Lower{ID: p.LowerID, Rootfs: p.Spec.Lower})
}

func newCarrier(g server.Generation) (server.Carrier, error) {
	if g.Plan.Credential == "" {
		return nil, nil //nolint:nilnil // a profile without a login carries none
	}
	c := credential.New(filepath.Join(g.Plan.DataRoot, g.Plan.Profile), g.Plan.Root(), g.Plan.Credential)
	return sandboxCarrier{c}, nil
}

// openDesk opens the request desk over the sandbox's mailbox.
func openDesk(g server.Generation, trust server.Trust, sandbox runtime.Sandbox) (server.Desk, error) {
	p := g.Plan
	requests, results := sandbox.Mailbox()
	cfg := desk.Config{
		Domain: p.Domain, Generation: g.ID, Profile: p.Profile,
		Workspace: p.Workspace, WorkspaceGuest: p.Spec.WorkspaceGuest,
		Enabled: p.Escalation, Expire: time.Duration(p.Expire) * time.Second,
		Authority: trust.(*sign.Authority), Environ: os.Environ(), IDs: p.Spec.IDs, Log: g.Log,
		Journal: func() (*journal.Journal, error) { return root.Journal(p.Root()) },
	}
	for _, v := range p.Spec.Volumes {
		if !v.ReadOnly {
			cfg.Writable = append(cfg.Writable, v.Host)
		}
	}
	for _, a := range p.Spec.Anchors {
		cfg.Writable = append(cfg.Writable, a.Upper)
	}
	d, err := desk.New(cfg, requests, results, sandbox.Poke)
	if err != nil {
		return nil, err
	}
	return serverDesk{d}, nil
}

// serverDesk is a desk whose sinks are the server's.
type serverDesk struct{ *desk.Desk }

func (d serverDesk) AddSession(id domain.SessionID, anchor ed25519.PublicKey, sink server.Sink) {
	d.Desk.AddSession(id, anchor, sink)
}

// sandboxCarrier is a carrier of logins that works on a whole sandbox.
type sandboxCarrier struct{ *credential.Carrier }

func (c sandboxCarrier) Bring(ctx context.Context, s runtime.Sandbox) error {
	return c.Carrier.Bring(ctx, s)
}

func (c sandboxCarrier) Take(ctx context.Context, s runtime.Sandbox) error {
	_, err := c.Carrier.Take(ctx, s)
	return err
}
