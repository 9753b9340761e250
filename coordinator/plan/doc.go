// Package plan turns the effective configuration into what one Domain is started
// with: its identity, the runtime Spec template, and the Configuration Fingerprint
// with the readable facts it stands for.
//
// Build reads small host files (terminfo, certificates, Git configuration, the prepared
// lower's passwd) and writes none. It imports config, agents and the runtime
// contract; it knows no coordinator process, no socket and no concrete runtime.
package plan
