package server

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"lazaret.dev/lazaret/coordinator/handover"
	"lazaret.dev/lazaret/coordinator/plan"
	"lazaret.dev/lazaret/coordinator/session"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/proc"
	"lazaret.dev/lazaret/runtime"
)

// Generation is what a generation's parts are made for.
type Generation struct {
	Plan plan.Plan
	ID   domain.Generation
	Log  *slog.Logger
}

// Trust is the generation's keys, as far as the coordinator needs them.
type Trust interface {
	// Secrets are the files the sandbox gets under its credential directory.
	Secrets() []runtime.GuestFile
	Capability(domain.SessionID) (string, error)
	Forget()
}

// Wiring is the concrete parts of a coordinator.
type Wiring struct {
	Launcher runtime.Launcher
	// Lease holds the prepared lower for as long as the generation uses it.
	Lease func(plan.Plan) (io.Closer, error)
	// Trust makes the generation's keys; Desk its request desk over them. Both
	// are nil in tests that need neither.
	Trust func(Generation) (Trust, error)
	Desk  func(Generation, Trust, runtime.Sandbox) (Desk, error)
	// Carrier carries the profile's login; it may return nil.
	Carrier func(Generation) (Carrier, error)
}

// firstClient is how long a coordinator waits for the client that started it.
const firstClient = 15 * time.Second

// settleTime is when the first session has had the processors to itself.
const settleTime = 2 * time.Second

// Main is the Host Coordinator's process: it takes over what spawn handed to it,
// brings the generation up, serves it, and returns the process's exit code when
// nothing of it is left.
func Main(w Wiring) int {
	// The umask stays the developer's: approved commands inherit it, and whatever
	// is private here is made with an explicit mode. The name would be "exe", for
	// it was started by way of /proc/self/exe.
	_ = os.WriteFile("/proc/self/comm", []byte("lazaret-hc"), 0)
	// A terminal's business, and we have none. Caught and dropped, not ignored:
	// an ignored signal stays ignored in approved commands.
	signal.Notify(make(chan os.Signal, 1), unix.SIGHUP, unix.SIGINT, unix.SIGQUIT)
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM)
	defer stop()
	h, err := handover.Inherit()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		if h != nil {
			h.Fail(err)
		}
		return int(fault.General)
	}
	p := &process{Inherited: h, wiring: w}
	defer p.release()
	if err := p.run(ctx); err != nil {
		p.log.Error("coordinator", "err", err)
		return int(fault.KindOf(err))
	}
	return 0
}

// process is a coordinator from the handover to the end. undo holds what was
// acquired, newest last.
type process struct {
	*handover.Inherited
	wiring Wiring
	log    *slog.Logger
	gen    Generation
	undo   []func()
}

// release lets everything go, newest first, and the Domain itself last.
func (p *process) release() {
	for i := len(p.undo) - 1; i >= 0; i-- {
		p.undo[i]()
	}
	p.Lock.Close()
}

func (p *process) logPath() string { return filepath.Join(p.Plan.Root(), "log", "coordinator.log") }

func (p *process) run(ctx context.Context) error {
	p.openLog()
	cfg, err := p.bringUp(ctx)
	if err != nil {
		p.Fail(err)
		return err
	}
	p.log.Info("ready")
	server := New(cfg)
	p.Ready(cfg.Listener.Addr().String(), p.gen.ID)
	time.AfterFunc(settleTime, proc.GiveBack) // what starting took; a Domain idles for hours
	server.Run(ctx)
	return nil
}

// openLog makes the log of this coordinator; standard error is the same file.
func (p *process) openLog() {
	var level slog.LevelVar
	if os.Getenv("LAZARET_DEBUG") != "" {
		level.Set(slog.LevelDebug)
	}
	p.gen = Generation{Plan: p.Plan, ID: domain.NewGeneration()}
	p.log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: &level})).
		With("domain", p.Plan.Domain, "generation", p.gen.ID)
	p.gen.Log = p.log
}

// bringUp acquires everything in order. What was acquired before an error is
// given back by release.
func (p *process) bringUp(ctx context.Context) (Config, error) {
	cfg := Config{
		Plan: p.Plan, Generation: p.gen.ID,
		Grace: session.DefaultGrace, FirstClient: firstClient,
		PeerUID: PeerUID, UID: os.Getuid(), Log: p.log, LogPath: p.logPath(),
	}
	p.step("check the Domain lock")
	if err := p.checkLock(); err != nil {
		return cfg, err
	}
	p.step("clear what an earlier coordinator left")
	if err := p.clearStale(); err != nil {
		return cfg, err
	}
	spec, trust, err := p.prepare(&cfg)
	if err != nil {
		return cfg, err
	}
	p.step("start the sandbox")
	sandbox, err := p.wiring.Launcher.Launch(ctx, spec, p.step)
	if err != nil {
		return cfg, launchFault(err)
	}
	cfg.Sandbox = sandbox
	if err := p.attach(ctx, &cfg, trust); err != nil {
		p.abandon(sandbox)
		return cfg, err
	}
	return cfg, nil
}

func (p *process) step(name string) {
	p.log.Info("step", "name", name)
	p.Step(name)
}

func launchFault(err error) error {
	if fault.KindOf(err) != fault.General {
		return err
	}
	return &fault.Error{Kind: fault.Sandbox, Message: "the sandbox could not be started", Err: err,
		Fix: "run lazaret doctor"}
}

// prepare acquires what the generation's Spec needs and returns it complete.
func (p *process) prepare(cfg *Config) (runtime.Spec, Trust, error) {
	spec := p.Plan.Spec
	spec.Generation = p.gen.ID
	spec.Dir = filepath.Join(p.Plan.Root(), "gen", string(p.gen.ID))
	if err := os.MkdirAll(spec.Dir, 0o700); err != nil {
		return spec, nil, fmt.Errorf("make generation directory: %w", err)
	}
	p.undo = append(p.undo, func() { os.RemoveAll(spec.Dir) })
	if p.wiring.Lease != nil {
		p.step("lease the prepared image")
		lease, err := p.wiring.Lease(p.Plan)
		if err != nil {
			return spec, nil, err
		}
		p.undo = append(p.undo, func() { lease.Close() })
	}
	if p.wiring.Trust == nil {
		return spec, nil, nil
	}
	p.step("make the generation's keys")
	trust, err := p.wiring.Trust(p.gen)
	if err != nil {
		return spec, nil, err
	}
	p.undo = append(p.undo, trust.Forget)
	spec.Secrets = trust.Secrets()
	cfg.Capability = trust.Capability
	return spec, trust, nil
}

// attach gives a running sandbox its desk, its login and its socket.
func (p *process) attach(ctx context.Context, cfg *Config, trust Trust) error {
	if p.wiring.Desk != nil && trust != nil {
		p.step("open the request desk")
		desk, err := p.wiring.Desk(p.gen, trust, cfg.Sandbox)
		if err != nil {
			return fmt.Errorf("open request desk: %w", err)
		}
		cfg.Desk = desk
	}
	if p.wiring.Carrier != nil {
		p.step("bring the agent's login")
		carrier, err := p.wiring.Carrier(p.gen)
		if err == nil && carrier != nil {
			cfg.Carrier = carrier
			err = carrier.Bring(ctx, cfg.Sandbox)
		}
		if err != nil { // the agent can log in anew
			p.log.Warn("bring login into the sandbox", "err", err)
		}
	}
	p.step("open the socket")
	return p.publish(cfg)
}

// abandon stops a sandbox that will not be served.
func (p *process) abandon(sandbox runtime.Sandbox) {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	proof, err := sandbox.Stop(ctx)
	p.log.Info("sandbox stopped", "proof", proof, "err", err)
}
