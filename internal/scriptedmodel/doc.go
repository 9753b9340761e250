// Package scriptedmodel is a stand-in for a language model: a local HTTP server that
// speaks the model APIs agent programs use and answers from a script, so that a real
// agent can be driven in tests without a network, an account or a cost.
//
// It keeps no state. Which step of the script comes next is told by the conversation
// each request carries, so a retried, repeated or resumed request gets the same
// answer. It owns the three dialects' shapes and nothing else of Lazaret, which it
// never imports: it must build static and run inside a sandbox.
//
//	path ends in       API
//	/chat/completions  OpenAI chat completions
//	/responses         OpenAI responses
//	/messages          Anthropic messages
package scriptedmodel
