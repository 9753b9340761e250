package views

import (
	"fmt"
	"strings"
	"time"

	"lazaret.dev/lazaret/escalate"
	"lazaret.dev/lazaret/internal/term"
)

// Quote shows one argument so that its ends, and everything in it that could not
// be seen, are visible.
func Quote(arg string) string {
	safe := term.Sanitize(arg)
	if safe != "" && !strings.ContainsAny(safe, " '\"\\$`*?[]{}()<>|&;#~!") && safe == arg {
		return safe
	}
	return "«" + safe + "»"
}

// QuoteArgv shows an argument vector in one line.
func QuoteArgv(argv []string) string {
	parts := make([]string, len(argv))
	for i, a := range argv {
		parts[i] = Quote(a)
	}
	return strings.Join(parts, " ")
}

// Waiting says how long a request has waited and how long it may still wait.
func Waiting(p escalate.Pending, now time.Time) string {
	text := "asked " + ago(now.Sub(time.Unix(p.ReceivedUnix, 0)))
	if p.ExpiresUnix == 0 {
		return text
	}
	left := time.Unix(p.ExpiresUnix, 0).Sub(now)
	if left <= 0 {
		return text + ", expired"
	}
	return text + ", expires in " + span(left)
}

func ago(d time.Duration) string {
	if d < time.Second {
		return "now"
	}
	return span(d) + " ago"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
