package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/coordinator/client"
	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/coordinator/spawn"
	"lazaret.dev/lazaret/coordinator/wire"
	"lazaret.dev/lazaret/coordinator/worktree"
	"lazaret.dev/lazaret/internal/domain"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
)

func newPsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ps",
		Short: "List the Domains that run, one a line",
		Example: `  lazaret ps
  lazaret ps --all   # also those that are stopped and keep their state`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			domains, err := scan(cmd)
			if err != nil {
				return err
			}
			return listDomains(cmd.OutOrStdout(), domains, all)
		},
	}
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list Domains that do not run")
	return cmd
}

func newStatusCommand() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what is in force in this workspace's Domains",
		Long: `Show, for every Domain of this workspace, its sessions, what isolates it, its
network policy, which limits are in force, and where its log is.`,
		Example: `  lazaret status
  lazaret status --json --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, workspace, err := loadConfig(cmd)
			if err != nil {
				return err
			}
			domains, err := scan(cmd)
			if err != nil {
				return err
			}
			if !all {
				domains = ofWorkspace(domains, workspace, keeper(c))
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), domains)
			}
			describeDomains(cmd.OutOrStdout(), domains)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "show the Domains of every workspace")
	return cmd
}

// domainInfo is one Domain as the commands show it. Problem says why its
// coordinator could not be asked.
type domainInfo struct {
	Domain    domain.ID   `json:"domain"`
	Profile   string      `json:"profile"`
	Workspace string      `json:"workspace"`
	Running   bool        `json:"running"`
	Problem   string      `json:"problem,omitempty"`
	Root      string      `json:"root"`
	Status    *statusInfo `json:"status,omitempty"`
}

// statusInfo is a live Domain's status with names for its fields.
type statusInfo struct {
	Generation    string        `json:"generation"`
	Mode          string        `json:"mode"`
	Started       time.Time     `json:"started"`
	Sessions      []sessionInfo `json:"sessions"`
	Pending       uint32        `json:"pending"`
	NetworkUp     bool          `json:"network_up"`
	NetworkReason string        `json:"network_reason,omitempty"`
	Policy        []string      `json:"policy"`
	Limits        []string      `json:"limits"`
	Lower         string        `json:"lower"`
	Log           string        `json:"log"`
	Anchors       []string      `json:"anchors"`
	Coordinator   int           `json:"coordinator_pid"`
}

type sessionInfo struct {
	Session string    `json:"session"`
	Name    string    `json:"name,omitempty"`
	Argv    []string  `json:"argv"`
	TTY     bool      `json:"tty"`
	Started time.Time `json:"started"`
	Pending uint32    `json:"pending"`
}

// askTimeout bounds how long one coordinator may take to answer.
const askTimeout = 3 * time.Second

// scan looks at every Domain Root and asks the coordinators that live.
func scan(cmd *cobra.Command) ([]domainInfo, error) {
	c, _, err := loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	roots, err := root.List(c.Storage.DataRoot)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Workspace, Message: "the Storage Root cannot be read", Err: err,
			Fix: "check storage.data_root"}
	}
	var out []domainInfo
	for _, dir := range roots {
		id, profile, workspace, err := root.Identity(dir)
		if err != nil {
			continue // never started to its end
		}
		info := domainInfo{Domain: id, Profile: profile, Workspace: workspace, Root: dir}
		info.ask(cmd.Context())
		out = append(out, info)
	}
	return out, nil
}

func (d *domainInfo) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	conn, err := spawn.Dial(ctx, d.Root)
	if spawn.NotRunning(err) {
		_ = root.Sweep(d.Root) // what a killed coordinator may have left
		return
	}
	var st wire.Status
	if err == nil {
		st, err = client.Query(ctx, conn, wire.Hello{Client: domain.NewClientID(), Domain: d.Domain})
	}
	d.Running = true
	if err != nil {
		d.Problem = err.Error()
		return
	}
	d.Status = statusOf(st)
}

func statusOf(st wire.Status) *statusInfo {
	out := &statusInfo{
		Generation: string(st.Generation), Mode: st.Mode, Started: time.Unix(st.StartedUnix, 0),
		Sessions: []sessionInfo{}, Pending: st.Pending, NetworkUp: st.NetworkUp, NetworkReason: st.NetworkReason,
		Policy: st.Policy, Limits: st.Limits, Lower: st.Lower, Log: st.Log, Anchors: st.Anchors, Coordinator: st.CoordinatorID,
	}
	for _, s := range st.Sessions {
		out.Sessions = append(out.Sessions, sessionInfo{
			Session: string(s.Session), Name: s.Name, Argv: s.Argv, TTY: s.TTY,
			Started: time.Unix(s.StartedUnix, 0), Pending: s.Pending,
		})
	}
	return out
}

// ofWorkspace keeps the Domains of a workspace and of its sessions' work trees that are
// in use.
func ofWorkspace(all []domainInfo, workspace string, trees worktree.Keeper) []domainInfo {
	var out []domainInfo
	for _, d := range all {
		if d.Workspace == workspace || d.Running && trees.BranchIn(d.Workspace) != "" {
			out = append(out, d)
		}
	}
	return out
}

func writeJSON(w io.Writer, domains []domainInfo) error {
	if domains == nil {
		domains = []domainInfo{}
	}
	return indented(w, domains)
}

// listDomains prints the table of `lazaret ps`.
func listDomains(w io.Writer, domains []domainInfo, all bool) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "DOMAIN\tPROFILE\tSTATE\tSESSIONS\tREQUESTS\tNETWORK\tSINCE\tWORKSPACE")
	for _, d := range domains {
		if !d.Running && !all {
			continue
		}
		state, sessions, requests, network, since := "stopped", "-", "-", "-", "-"
		if d.Running {
			state = "no answer"
		}
		if st := d.Status; st != nil {
			state, network = "running", "up"
			if !st.NetworkUp {
				network = "down"
			}
			sessions, requests = fmt.Sprint(len(st.Sessions)), fmt.Sprint(st.Pending)
			since = st.Started.Format("Jan 02 15:04")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", d.Domain, term.Sanitize(d.Profile), state, sessions, requests, network, since,
			term.Sanitize(d.Workspace))
	}
	return table.Flush()
}

// describeDomains prints `lazaret status`.
func describeDomains(w io.Writer, domains []domainInfo) {
	if len(domains) == 0 {
		fmt.Fprintln(w, "No Domain was ever started here. Start one with: lazaret run")
	}
	for i, d := range domains {
		if i > 0 {
			fmt.Fprintln(w)
		}
		d.describe(w)
	}
}

func (d domainInfo) describe(w io.Writer) {
	line := func(name, value string) { fmt.Fprintf(w, "  %-12s %s\n", name, term.Sanitize(value)) }
	fmt.Fprintf(w, "%s  profile %s\n", d.Domain, term.Sanitize(d.Profile))
	line("workspace", d.Workspace)
	line("root", d.Root)
	st := d.Status
	switch {
	case !d.Running:
		line("state", "stopped")
		return
	case st == nil:
		line("state", "its coordinator does not answer: "+d.Problem)
		return
	}
	line("state", "running since "+st.Started.Format(time.DateTime)+", generation "+st.Generation)
	line("isolation", "gVisor, id mapping "+st.Mode)
	line("image", st.Lower)
	line("persistent", strings.Join(st.Anchors, " "))
	if st.NetworkUp {
		line("network", "up")
	} else {
		line("network", "down: "+st.NetworkReason)
	}
	for _, rule := range st.Policy {
		line("", rule)
	}
	for i, limit := range st.Limits {
		line(map[bool]string{true: "limits"}[i == 0], limit)
	}
	line("log", st.Log)
	for _, s := range st.Sessions {
		name := s.Session[:min(8, len(s.Session))]
		if s.Name != "" {
			name += " " + s.Name
		}
		line("session", fmt.Sprintf("%s: %s (%d requests wait)", name, strings.Join(s.Argv, " "), s.Pending))
	}
}
