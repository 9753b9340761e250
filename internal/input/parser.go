package input

import (
	"bytes"
	"unicode/utf8"
)

// Limits of what is held while it is incomplete.
const (
	DefaultPasteLimit = 8 << 20
	maxSequence       = 256     // a key, mouse or short reply sequence
	maxReply          = 8 << 10 // an OSC, DCS or APC reply
)

// Parser splits the byte stream of the outer terminal. A sequence cut over two
// reads is held and completed; a lone ESC (or any unfinished sequence) is held
// until more arrives or Flush says that it has waited long enough.
//
//	ground ──ESC──► escape ──[──► CSI ──final──► event      CSI 200~ ──► paste
//	   │              │ ├───O──► SS3 ──final──► event                     │
//	   └─rune─► Key   │ └─]P_^X► string ──BEL/ST──► Reply      ESC[201~ ──► Paste
//	                  └─other─► Key with Alt
type Parser struct {
	limit int
	held  []byte // an unfinished sequence; begins with ESC or a cut rune

	pasting bool
	paste   []byte
	size    int // bytes of the paste so far, kept or not
}

// NewParser returns a parser that keeps pastes up to pasteLimit bytes; 0 means
// DefaultPasteLimit.
func NewParser(pasteLimit int) *Parser {
	if pasteLimit <= 0 {
		pasteLimit = DefaultPasteLimit
	}
	return &Parser{limit: pasteLimit}
}

// Feed takes what was read and returns the events it completes, in order.
func (p *Parser) Feed(b []byte) []Event {
	data := b
	if len(p.held) > 0 {
		data = append(p.held, b...)
		p.held = nil
	}
	return p.split(bytes.Clone(data), false)
}

// Pending reports whether something unfinished is held that Flush would release.
// Callers wait a few tens of milliseconds after it turns true, then call Flush.
func (p *Parser) Pending() bool { return len(p.held) > 0 && !p.pasting && !replyStarted(p.held) }

// Pasting reports whether the middle of a paste has arrived.
func (p *Parser) Pasting() bool { return p.pasting }

// Flush says that nothing more came: a held ESC is the Escape key.
func (p *Parser) Flush() []Event {
	if !p.Pending() {
		return nil
	}
	data := p.held
	p.held = nil
	return p.split(data, true)
}

// split consumes data; what is incomplete at its end is held unless final.
func (p *Parser) split(data []byte, final bool) []Event {
	var events []Event
	for len(data) > 0 {
		if p.pasting {
			var ev Event
			var done bool
			ev, data, done = p.takePaste(data)
			if done {
				events = append(events, ev)
			}
			continue
		}
		n, kind := scan(data)
		if n == 0 && final {
			n, kind = resolve(data)
		}
		if n == 0 {
			p.held = data
			return events
		}
		raw := data[:n:n]
		data = data[n:]
		if kind == scanPaste {
			p.pasting, p.paste, p.size = true, nil, 0
			continue
		}
		events = append(events, event(kind, raw))
	}
	return events
}

var pasteEnd = []byte("\x1b[201~")

// takePaste moves the content of a paste from data. Beyond the limit the content is
// dropped but the end is still looked for.
func (p *Parser) takePaste(data []byte) (ev Event, rest []byte, done bool) {
	end := bytes.Index(data, pasteEnd)
	content := data
	if end >= 0 {
		content, rest, done = data[:end], data[end+len(pasteEnd):], true
	} else if n := cutMarker(data); n > 0 {
		content = data[:len(data)-n]
		p.held = bytes.Clone(data[len(data)-n:])
	}
	p.size += len(content)
	if p.size <= p.limit {
		p.paste = append(p.paste, content...)
	} else {
		p.paste = nil
	}
	if !done {
		return Event{}, nil, false
	}
	ev = Event{Kind: Paste, Text: p.paste, Over: p.size > p.limit, Size: p.size}
	p.pasting, p.paste, p.size = false, nil, 0
	return ev, rest, true
}

// cutMarker returns how many bytes at the end of data may begin the end marker.
func cutMarker(data []byte) int {
	for n := min(len(pasteEnd)-1, len(data)); n > 0; n-- {
		if bytes.HasSuffix(data, pasteEnd[:n]) {
			return n
		}
	}
	return 0
}

type scanned uint8

const (
	scanKey scanned = iota
	scanCSI
	scanMouseX10
	scanReply
	scanPaste
)

// scan returns the length and the kind of the first sequence, 0 when it is cut.
func scan(data []byte) (int, scanned) {
	c := data[0]
	if c != 0x1b {
		return scanRune(data), scanKey
	}
	if len(data) == 1 {
		return 0, scanKey
	}
	switch data[1] {
	case '[':
		return scanControl(data)
	case 'O':
		return scanSS3(data)
	case ']', 'P', '_', '^', 'X':
		return scanString(data)
	case 0x1b:
		return 1, scanKey // Escape, then whatever the second one begins
	}
	if n := scanRune(data[1:]); n > 0 {
		return 1 + n, scanKey
	}
	return 0, scanKey
}

// scanRune returns the length of the first character; an invalid byte is one.
func scanRune(data []byte) int {
	if data[0] < utf8.RuneSelf {
		return 1
	}
	if !utf8.FullRune(data) {
		return 0
	}
	_, n := utf8.DecodeRune(data)
	return n
}

func scanControl(data []byte) (int, scanned) {
	for i := 2; i < len(data); i++ {
		c := data[i]
		switch {
		case i == 2 && c == '[': // Linux console: ESC [ [ A
			if len(data) < 4 {
				return 0, scanKey
			}
			return 4, scanKey
		case i == 2 && c == 'M': // X10 mouse report: three bytes follow
			if len(data) < 6 {
				return 0, scanMouseX10
			}
			return 6, scanMouseX10
		case c >= 0x40 && c <= 0x7e:
			if string(data[2:i+1]) == "200~" {
				return i + 1, scanPaste
			}
			return i + 1, scanCSI
		case c < 0x20 || c > 0x7e || i > maxSequence:
			return i, scanKey // broken off; what came is passed on as it is
		}
	}
	return 0, scanCSI
}

func scanSS3(data []byte) (int, scanned) {
	for i := 2; i < len(data) && i < 8; i++ {
		switch c := data[i]; {
		case c >= '0' && c <= '9' || c == ';':
			continue
		case c >= 0x40 && c <= 0x7e:
			return i + 1, scanKey
		default:
			return 2, scanKey // Alt+O, then something else
		}
	}
	if len(data) >= 8 {
		return 2, scanKey
	}
	return 0, scanKey
}

// scanString finds the end of a reply. What cannot be a reply is Alt and a key.
func scanString(data []byte) (int, scanned) {
	if len(data) > 2 && !replyStarted(data) {
		return 2, scanKey
	}
	for i := 2; i < len(data); i++ {
		switch c := data[i]; {
		case c == 0x07:
			return i + 1, scanReply
		case c == 0x1b:
			if i+1 == len(data) {
				return 0, scanReply
			}
			if data[i+1] == '\\' {
				return i + 2, scanReply
			}
			return i, scanReply // the next sequence breaks it off
		case c < 0x20, i > maxReply:
			return i, scanReply
		}
	}
	return 0, scanReply
}

// replyStarted reports whether data is the beginning of a string that terminals
// send and people cannot type: OSC and a digit, DCS and a reply's first character,
// APC G.
func replyStarted(data []byte) bool {
	if len(data) < 3 || data[0] != 0x1b {
		return false
	}
	c := data[2]
	digit := c >= '0' && c <= '9'
	switch data[1] {
	case ']':
		return digit
	case 'P':
		return digit || c == '>' || c == '!' || c == '$' || c == '+'
	case '_':
		return c == 'G'
	}
	return false
}

// resolve says what an unfinished sequence is when nothing more comes.
func resolve(data []byte) (int, scanned) {
	if data[0] != 0x1b {
		return 1, scanKey // a cut rune
	}
	if len(data) == 2 || len(data) > 2 && (data[1] == '[' || data[1] == 'O') {
		return len(data), scanKey // Alt+[ and the like
	}
	return 1, scanKey
}
