package hostgit

import (
	"strconv"

	"lazaret.dev/lazaret/runtime/workspacefs/gitconfig"
)

// setting is one variable of git-config(1) by its full name.
type setting struct{ key, value string }

// always is set at every run, whatever the repository says. "true" and "false" stand
// for the programs of that name where a variable is one.
var always = []setting{
	{"core.fsmonitor", "false"}, {"core.hooksPath", "/dev/null"}, {"core.untrackedCache", "false"},
	{"core.pager", "cat"}, {"core.editor", "true"}, {"sequence.editor", "true"},
	{"core.askPass", "true"}, {"core.sshCommand", "false"}, {"core.alternateRefsCommand", "true"},
	{"core.attributesFile", "/dev/null"}, {"credential.helper", ""}, {"protocol.allow", "never"},
	{"diff.external", "true"}, {"diff.ignoreSubmodules", "dirty"}, {"diff.submodule", "short"},
	{"interactive.diffFilter", "cat"}, {"status.submoduleSummary", "false"},
	{"submodule.recurse", "false"}, {"fetch.recurseSubmodules", "false"},
	{"gpg.program", "false"}, {"gpg.openpgp.program", "false"}, {"gpg.x509.program", "false"}, {"gpg.ssh.program", "false"},
	{"gpg.ssh.defaultKeyCommand", "false"}, {"log.showSignature", "false"}, {"commit.gpgSign", "false"}, {"tag.gpgSign", "false"},
	{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"worktree.useRelativePaths", "false"},
}

// anyKey stands for every variable of a section.
const anyKey = "*"

// named are the variables that name programs under a name the repository chooses, by
// section and key, with what takes their place. An empty filter passes everything
// through.
var named = map[string]map[string]string{
	"filter":     {"clean": "", "smudge": "", "process": "", "required": "false"},
	"diff":       {"command": "true", "textconv": "cat", "cachetextconv": "false"},
	"merge":      {"driver": "false"},
	"credential": {"helper": ""},
	"gpg":        {"program": "false", "defaultkeycommand": "false"},
	"protocol":   {"allow": "never"},
	"remote":     {"uploadpack": "false", "receivepack": "false", "vcs": "", "promisor": "false"},
	"submodule":  {"update": "none", "fetchrecursesubmodules": "false"},
	"trailer":    {"command": "", "cmd": ""},
	"hook":       {"enabled": "false", "command": "", "event": ""},
	"pager":      {anyKey: "false"},
	"alias":      {anyKey: ""},
	"difftool":   {"cmd": "false", "path": "false"},
	"mergetool":  {"cmd": "false", "path": "false"},
	"browser":    {"cmd": "false", "path": "false"},
	"man":        {"cmd": "false", "path": "false"},
	"guitool":    {"cmd": "false"},
	"tar":        {"command": "false"},
}

// overrides are the settings of a run in a repository that has the given variables.
func overrides(vars []gitconfig.Var) []setting {
	out := append([]setting(nil), always...)
	seen := map[string]bool{}
	for _, v := range vars {
		value, ok := harmless(v)
		if key := fullName(v); ok && !seen[key] {
			seen[key] = true
			out = append(out, setting{key, value})
		}
	}
	return out
}

// harmless is what v is set to instead, if it names a program. A variable without a name
// of the repository's is in the fixed list, unless the section is a list of programs.
func harmless(v gitconfig.Var) (value string, ok bool) {
	keys := named[v.Section]
	if value, ok = keys[anyKey]; ok {
		return value, true
	}
	if !v.Named {
		return "", false
	}
	value, ok = keys[v.Key]
	return value, ok
}

func fullName(v gitconfig.Var) string {
	name := v.Section
	if v.Named {
		name += "." + v.Subsection
	}
	return name + "." + v.Key
}

// environment hands settings over. Unlike "-c name=value" it allows an equals sign in a
// name, so no name the repository chooses can get past it.
func environment(settings []setting) []string {
	out := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))}
	for i, s := range settings {
		n := strconv.Itoa(i)
		out = append(out, "GIT_CONFIG_KEY_"+n+"="+s.key, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return out
}
