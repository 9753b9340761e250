// Package review is the request card: all of one Host Escalation request, and the
// developer's answer to it. It promises that an approval
//   - is only possible once the developer has paused typing since the card opened,
//   - is only possible once every line of the card has been on the screen,
//   - carries exactly the request, digest and vector that were shown.
//
// Everything the sandbox wrote is drawn escaped.
package review
