// Package escalate is the vocabulary of Host Escalation: what a sandbox may ask,
// what the developer may answer, and how a request ends. Its subpackages carry
// the records (wire, sign, mailbox), judge them (policy), run what was approved
// (launch) and ask from inside (client). It is data only.
package escalate
