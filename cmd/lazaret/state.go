package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"lazaret.dev/lazaret/coordinator/root"
	"lazaret.dev/lazaret/internal/config"
	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/term"
	"lazaret.dev/lazaret/runtime/workspacefs/state"
)

// newStateCommand is `lazaret state`.
func newStateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "See what sandboxes changed in this workspace, and accept what is held back",
		Long: `A sandbox writes ordinary files of the workspace directly; lazaret state changes
lists them. What your tools would run or obey (git directories, editor tasks,
direnv files, agent hooks), secrets, and everything git ignores stays in Domain
storage; lazaret state held lists that, and lazaret state accept takes parts of it
into the workspace. All three work while the sandbox runs and when it does not.

Sessions of profiles with git.mode = "worktree" work in worktrees of their own;
lazaret state worktrees lists them, lazaret state diff shows what is in one.`,
		Example: "  lazaret state changes --mark\n  lazaret state held\n  lazaret state accept .envrc",
		Args:    noArguments,
	}
	cmd.PersistentFlags().String("worktree", "", "for changes, held and accept: the worktree of this name instead of the workspace")
	cmd.PersistentFlags().String("profile", "", "the Domain of this profile (default: the only one there is, else the default profile's)")
	cmd.AddCommand(newStateChangesCommand(), newStateHeldCommand(), newStateAcceptCommand(),
		newStateDiffCommand(), newStateWorktreesCommand())
	return cmd
}

// storage is the Domain a state command is about.
type storage struct {
	config  *config.Config
	profile string
	root    string // Domain Root
	store   *os.File
}

// openStorage finds the Domain of this workspace that is meant and opens its storage.
// The caller closes store.
func openStorage(cmd *cobra.Command) (*storage, error) {
	c, workspace, err := loadConfig(cmd)
	if err != nil {
		return nil, err
	}
	s := &storage{config: c}
	wanted := cmd.Flag("profile").Value.String()
	if name := cmd.Flag("worktree").Value.String(); name != "" {
		if wanted, err = keeper(c).Profile(name); err != nil {
			return nil, err
		}
		workspace = keeper(c).Path(name)
		if s.config, err = c.ForWorktree(workspace); err != nil {
			return nil, err
		}
	}
	if err := s.find(workspace, wanted); err != nil {
		return nil, err
	}
	s.store, err = state.OpenStore(s.root)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noStorage("the sandbox of profile " + s.profile + " has never used this workspace")
	}
	if err != nil {
		return nil, &fault.Error{Kind: fault.Workspace, Message: "Domain storage cannot be opened", Err: err, Fix: "look at " + filepath.Join(s.root, state.Folder)}
	}
	return s, nil
}

func noStorage(message string) error {
	return &fault.Error{Kind: fault.Workspace, Message: message, Fix: "lazaret run starts one; lazaret status --all lists the Domains of other workspaces"}
}

// find sets the profile and root of the Domain that is meant.
func (s *storage) find(workspace, wanted string) error {
	roots, err := root.List(s.config.Storage.DataRoot)
	if err != nil {
		return &fault.Error{Kind: fault.Workspace, Message: "the Storage Root cannot be read", Err: err, Fix: "check storage.data_root"}
	}
	found := map[string]string{}
	var profiles []string
	for _, dir := range roots {
		if _, profile, ws, err := root.Identity(dir); err == nil && ws == workspace {
			found[profile] = dir
			profiles = append(profiles, profile)
		}
	}
	switch {
	case wanted != "" && found[wanted] == "":
		return noStorage(fmt.Sprintf("profile %q has no Domain in this workspace", wanted))
	case len(profiles) == 0:
		return noStorage("no sandbox was ever started in this workspace")
	case wanted == "" && len(profiles) == 1:
		wanted = profiles[0]
	case wanted == "" && found[s.config.DefaultProfile] != "":
		wanted = s.config.DefaultProfile
	case wanted == "":
		return &fault.Error{Kind: fault.Usage, Message: "this workspace has several Domains", Fix: "give --profile " + strings.Join(profiles, " or --profile ")}
	}
	s.profile, s.root = wanted, found[wanted]
	return nil
}

// place opens the workspace beside Domain storage. The caller closes Tree.
func (s *storage) place() (state.Place, error) {
	tree, err := os.Open(s.config.Workspace)
	if err != nil {
		return state.Place{}, &fault.Error{Kind: fault.Workspace, Message: "the workspace cannot be opened", Err: err, Fix: "look at its owner and mode"}
	}
	return state.Place{Store: s.store, Tree: tree}, nil
}

// inWorkspace makes an argument a path relative to the workspace, which is the
// current directory.
func (s *storage) inWorkspace(arg string) (string, error) {
	at := filepath.Clean(arg)
	if filepath.IsAbs(at) {
		rel, err := filepath.Rel(s.config.Workspace, at)
		if err != nil {
			return "", err
		}
		at = rel
	}
	if at == ".." || strings.HasPrefix(at, "../") {
		return "", &fault.Error{Kind: fault.Usage, Message: fmt.Sprintf("%q is not in the workspace", arg), Fix: "give paths below " + s.config.Workspace}
	}
	if at == "." {
		at = ""
	}
	return at, nil
}

// paths is inWorkspace for all arguments.
func (s *storage) paths(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		at, err := s.inWorkspace(arg)
		if err != nil {
			return nil, err
		}
		out = append(out, at)
	}
	return out, nil
}

// shownPath is a name from the sandbox as a terminal may show it.
func shownPath(at string) string {
	if term.Suspicious(at) || strings.ContainsAny(at, "\n\t\"") {
		return term.Sanitize(fmt.Sprintf("%q", at))
	}
	return at
}

// byteSize shows n with the unit that suits it.
func byteSize(n int64) string {
	const kib = 1 << 10
	switch {
	case n < kib:
		return fmt.Sprintf("%d B", n)
	case n < kib*kib:
		return fmt.Sprintf("%.1f KiB", float64(n)/kib)
	case n < kib*kib*kib:
		return fmt.Sprintf("%.1f MiB", float64(n)/(kib*kib))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(kib*kib*kib))
}
