package agents

import "lazaret.dev/lazaret/runtime"

// Client is where the Escalation Client lies in every sandbox.
const Client = "/run/lazaret/bin/lazaret-escalate"

// Instruction is what every agent is told about where it is and how to ask the
// host. It is one text for all of them, placed where each reads its global
// instructions, outside the workspace.
const Instruction = `# You work in a Lazaret sandbox

You are root in an isolated machine of your own. The project is shared with the
developer's computer: what you change there, they see at once. Everything else in
here is yours: install packages, start servers, break things. Installed tools stay
for the next session. Nothing outside the project can be reached from here, private
networks included, and there are no keys or logins of the developer in here.

Some things can only be done on the developer's computer, such as pushing a branch
with their keys, using a device that is plugged in, or opening a program on their
screen. Ask for those, one command at a time:

    ` + Client + ` --why "one sentence: what for" -- PROGRAM ARGUMENT...

- The developer sees exactly this command and your reason, and approves, changes or
  refuses it. Waiting may take minutes; let the command run.
- It is started without a shell, in the project directory of the developer's
  computer (or the directory below it you ask from). Pipes, redirections and
  variables are not interpreted; filter the output here instead.
- Its output and exit status come back to you as if it had run here. If the
  developer changed the command, you are told what ran.
- A refusal is an answer. Read the reason, do not ask again for the same thing in
  other words, and find another way or say what you could not do.
- Do not ask for what works in here: building, testing, searching, committing.
`

// instructionFile is the instruction as a read-only file at path.
func instructionFile(path string) runtime.GuestFile {
	return runtime.GuestFile{Path: path, Mode: 0o644, Data: []byte(Instruction)}
}
