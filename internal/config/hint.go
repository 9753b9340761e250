package config

import (
	"fmt"
	"strings"
)

// nearest returns the candidate closest to word, or "" when none is close enough
// to be a slip of the fingers.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 3
	if len(word) > 40 {
		return ""
	}
	for _, c := range candidates {
		d := distance(strings.ToLower(word), c)
		if d < bestDistance || (d == bestDistance && best == "" && len(c) > 6) {
			best, bestDistance = c, d
		}
	}
	if best != "" && bestDistance >= len(best) {
		return ""
	}
	return best
}

// didYouMean is the hint for a word that is not one of the candidates.
func didYouMean(word string, candidates []string) string {
	if near := nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	if len(candidates) == 0 {
		return ""
	}
	return "known here: " + strings.Join(candidates, ", ")
}

// distance is the number of single-byte edits, swaps of neighbours included,
// between a and b.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
