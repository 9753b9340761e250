package plan

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"lazaret.dev/lazaret/internal/agents"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/runtime"
)

// WorkspaceGuest is where the Agent Workspace is mounted inside.
const WorkspaceGuest = "/workspace"

// Surroundings is what a plan needs besides the configuration.
type Surroundings struct {
	IDs   runtime.IDs
	Lower Lower
	// GuestBinary and Runsc are the host paths of the two programs a sandbox needs.
	GuestBinary, Runsc string
	RuntimeDir         string
	Environ            []string // of the host, for TERM, TERMINFO and HOME
}

// Lower is the prepared lower the Domain is started with.
type Lower struct {
	ID, Rootfs string
	Env        []string // of the image
	User       string   // of the image
}

// Build makes the plan for profile in the workspace c was loaded for.
func Build(c *config.Config, profile string, s Surroundings) (Plan, error) {
	p, err := c.Profile(profile)
	if err != nil {
		return Plan{}, err
	}
	id, digest := domain.Identify(profile, c.Workspace)
	b := builder{config: c, profile: p, around: s, root: DomainRoot(c.Storage.DataRoot, id)}
	spec, err := b.spec(id)
	if err != nil {
		return Plan{}, err
	}
	plan := Plan{
		Domain: id, Digest: digest[:], Profile: profile, Workspace: c.Workspace,
		Spec: spec, Command: p.Command,
		DataRoot: c.Storage.DataRoot, RuntimeDir: s.RuntimeDir, LowerID: s.Lower.ID,
		Install: p.Install, Credential: p.Credential,
		Escalation: c.Escalation.Enabled && p.Escalation,
		Expire:     uint32(max(0, c.Escalation.ExpireSeconds)),
		Policy:     policyLines(spec.Network),
	}
	for _, r := range c.Escalation.AutoApprove {
		plan.Rules = append(plan.Rules, Rule(r))
	}
	plan.Facts = b.facts(plan)
	if plan.Fingerprint, err = fingerprint(plan.Facts); err != nil {
		return Plan{}, err
	}
	return plan, checkText(plan)
}

// builder is one Build under way.
type builder struct {
	config  *config.Config
	profile config.Profile
	around  Surroundings
	root    string // the Domain Root
}

func (b builder) spec(id domain.ID) (runtime.Spec, error) {
	p := b.profile
	user, err := b.user()
	if err != nil {
		return runtime.Spec{}, err
	}
	layer, vars, err := b.layer()
	if err != nil {
		return runtime.Spec{}, err
	}
	policy, err := b.policy()
	if err != nil {
		return runtime.Spec{}, err
	}
	layer = append(layer, guestExcludes(policy))
	spec := runtime.Spec{
		Policy: policy, Domain: id, IDs: b.around.IDs, Lower: b.around.Lower.Rootfs,
		Workspace: b.config.Workspace, WorkspaceGuest: WorkspaceGuest,
		Network: runtime.Network{
			Enabled: p.NetworkEnabled,
			Allow:   append(append(b.config.Network.DefaultAllow[:0:0], b.config.Network.DefaultAllow...), p.AllowEgress...),
			Deny:    append(append(b.config.Network.DefaultDeny[:0:0], b.config.Network.DefaultDeny...), p.DenyEgress...),
		},
		Hostname: hostname(p.Name), User: user,
		Env: environment(b.around.Lower.Env, user, vars, p.Env), Layer: layer,
		Limits:      runtime.Limits(p.Limits),
		GuestBinary: b.around.GuestBinary, Runsc: b.around.Runsc, Directfs: p.Directfs,
	}
	for _, v := range p.Volumes {
		spec.Volumes = append(spec.Volumes, runtime.Volume(v))
	}
	for _, dir := range p.PersistentDirs {
		home := filepath.Join(b.root, "anchors", anchorName(dir))
		spec.Anchors = append(spec.Anchors, runtime.Anchor{
			Path: dir, Upper: filepath.Join(home, "upper"), Work: filepath.Join(home, "work"),
		})
	}
	return spec, nil
}

// policy is what the workspace file system is told.
func (b builder) policy() (runtime.WorkspacePolicy, error) {
	p := runtime.WorkspacePolicy{
		Store:   filepath.Join(b.root, "workspace"),
		Ignored: runtime.Ignored(b.profile.Workspace.Ignored),
		Masks:   b.profile.Workspace.Masks, Secrets: b.profile.Workspace.Secrets,
	}
	var err error
	if p.GitDirs, err = gitDirs(b.config.Workspace); err != nil {
		return p, err
	}
	p.GlobalExcludes, err = globalExcludes(b.around.Environ)
	return p, err
}

// anchorName is the directory name that stands for a guest path.
func anchorName(guest string) string {
	return strings.NewReplacer("%", "%25", "/", "%2F").Replace(strings.TrimPrefix(guest, "/"))
}

// hostname is what the sandbox calls itself (RFC 1123: letters, digits, hyphens).
func hostname(profile string) string {
	const longest = 63
	name := "lazaret-" + strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		}
		return '-'
	}, profile)
	if len(name) > longest {
		name = name[:longest]
	}
	return strings.TrimRight(name, "-")
}

// checkText refuses what the records cannot carry: their strings are UTF-8.
func checkText(p Plan) error {
	texts := append([]string{p.Workspace, p.DataRoot, p.RuntimeDir, p.Spec.Lower}, p.Spec.Env...)
	texts = append(texts, p.Spec.Policy.GitDirs...)
	for _, v := range p.Spec.Volumes {
		texts = append(texts, v.Host, v.Guest)
	}
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return &fault.Error{Kind: fault.Config, Message: fmt.Sprintf("%q is not text in UTF-8", text),
				Fix: "give the folder or the variable a name and value in UTF-8"}
		}
	}
	return nil
}

// layer is every file Lazaret supplies, and the variables that point to them.
func (b builder) layer() (files []runtime.GuestFile, vars []string, err error) {
	files = terminfo(b.around.Environ)
	certificates, vars, err := certificateFiles(b.profile.CACertificates)
	if err != nil {
		return nil, nil, err
	}
	files = append(files, certificates...)
	files = append(files, gitFiles(b.around.Lower.Rootfs, lookup(b.around.Environ, "HOME"))...)
	if agent, ok := agents.Lookup(b.profile.Agent); ok {
		files = append(files, agent.Files...)
	}
	return files, vars, nil
}

// lookup returns the value of name in environ.
func lookup(environ []string, name string) string {
	for _, v := range environ {
		if n, value, ok := strings.Cut(v, "="); ok && n == name {
			return value
		}
	}
	return ""
}
