// Package agents holds what Lazaret knows about each agent CLI: how to install it
// into the State Anchor, how to start it unattended, which environment and which
// files under /etc it gets, which file is its login. A recipe is data; nothing
// here runs anything.
//
// Nothing of a recipe lies in the Agent Workspace. It imports only the runtime
// contract, for GuestFile.
package agents
