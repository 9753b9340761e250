// Package inbox lists the requests that wait for a decision, longest-waiting first.
// Nothing can be decided from the list: a decision is made on the card, which
// shows all of the request.
package inbox
