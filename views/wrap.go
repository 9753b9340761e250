package views

import (
	"strings"

	"github.com/rivo/uniseg"

	"lazaret.dev/lazaret/internal/frame"
)

// Wrap breaks text into lines of at most width cells, at blanks where there are
// any and inside a word where a word alone is too long. Nothing is dropped but the
// blank a line breaks at. It returns at least one line.
func Wrap(text string, width int) []string {
	width = max(1, width)
	var lines []string
	for para := range strings.SplitSeq(text, "\n") {
		lines = append(lines, wrapLine(para, width)...)
	}
	return lines
}

func wrapLine(text string, width int) []string {
	var lines []string
	line, used := "", 0
	for _, word := range splitKeepingBlanks(text) {
		w := frame.Width(word)
		if used+w <= width {
			line, used = line+word, used+w
			continue
		}
		if line != "" {
			lines = append(lines, strings.TrimSuffix(line, " "))
			word = strings.TrimPrefix(word, " ")
			w = frame.Width(word)
		}
		for w > width {
			head, tail := cut(word, width)
			lines = append(lines, head)
			word, w = tail, frame.Width(tail)
		}
		line, used = word, w
	}
	return append(lines, line)
}

// splitKeepingBlanks splits before each blank, so that the parts joined are text.
func splitKeepingBlanks(text string) []string {
	var parts []string
	for text != "" {
		i := strings.IndexByte(text[1:], ' ') + 1
		if i == 0 {
			return append(parts, text)
		}
		parts = append(parts, text[:i])
		text = text[i:]
	}
	return parts
}

// cut splits text after at most width cells, and after at least one cluster.
func cut(text string, width int) (head, tail string) {
	used, end, state := 0, 0, -1
	rest := text
	for rest != "" {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+w > width && end > 0 {
			break
		}
		used += w
		end += len(cluster)
	}
	return text[:end], text[end:]
}
