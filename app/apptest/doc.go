// Package apptest drives a dashboard without a terminal: scripted sessions, a screen
// that keeps the last picture, a loop that stands in for bubbletea's, and golden
// pictures. It is meant to run in a testing/synctest bubble, where time is fake.
package apptest
