package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
)

// indented prints v as JSON. What cannot be seen, or drives a terminal, is written as
// JSON's own escapes: file names and titles are the sandbox's.
func indented(w io.Writer, v any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	for _, r := range text.String() { // valid UTF-8, as the encoder writes it
		writeVisible(out, r)
	}
	return out.Flush()
}

func writeVisible(out *bufio.Writer, r rune) {
	if r == '\n' || unicode.IsPrint(r) && !unicode.Is(unicode.Variation_Selector, r) {
		_, _ = out.WriteRune(r) // Flush tells
		return
	}
	if a, b := utf16.EncodeRune(r); a != unicode.ReplacementChar {
		fmt.Fprintf(out, `\u%04x\u%04x`, a, b)
		return
	}
	fmt.Fprintf(out, `\u%04x`, r)
}
