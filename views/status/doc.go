// Package status shows one Domain: what runs in it, which policy and limits are in
// force, where its log is, and why its network is down when it is.
package status
