package app

import "encoding/base64"

// osc52Limit is the most text one OSC 52 may carry; terminals drop longer ones.
const osc52Limit = 74 << 10

// osc52 asks the outer terminal to put text on the developer's clipboard (xterm,
// "Manipulate Selection Data"). Inside tmux the same sequence is tmux's own.
func osc52(text string) []byte {
	if len(text) > osc52Limit {
		text = text[:osc52Limit]
	}
	b := append([]byte("\x1b]52;c;"), base64.StdEncoding.EncodeToString([]byte(text))...)
	return append(b, 0x07)
}
