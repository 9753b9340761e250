package term

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
)

// Limits on what a program can ask of the developer at a time.
const (
	maxTitle      = 256 // cells
	maxNotice     = 512 // cells
	maxClipboard  = 128 << 10
	maxEvents     = 32
	maxEventBytes = 256 << 10
)

// osc implements handler. Setting colours, links, working directories and prompt
// marks are ignored: a pane has one palette, and link targets are not opened here.
func (e *engine) osc(data []byte) {
	number, rest, _ := strings.Cut(string(data), ";")
	switch number {
	case "0", "2":
		e.title = SanitizeLine(rest, maxTitle)
	case "4":
		e.reportPalette(rest)
	case "10":
		e.reportColor("10", rest, e.opt.Palette.Foreground)
	case "11":
		e.reportColor("11", rest, e.opt.Palette.Background)
	case "12":
		e.reportColor("12", rest, e.opt.Palette.Cursor)
	case "9":
		if !strings.HasPrefix(rest, "4;") && rest != "4" { // 9;4 is a progress bar
			e.event(EventNotify, SanitizeLine(rest, maxNotice))
		} else {
			e.event(EventStatus, SanitizeLine("progress="+strings.TrimPrefix(rest, "4;"), maxNotice))
		}
	case "777":
		if kind, text, ok := strings.Cut(rest, ";"); ok && kind == "notify" {
			e.event(EventNotify, SanitizeLine(strings.Replace(text, ";", ": ", 1), maxNotice))
		}
	case "7501":
		e.event(EventStatus, SanitizeLine(rest, maxNotice))
	case "52":
		e.clipboard(rest)
	}
}

// reportPalette answers the queries among the index;colour pairs of OSC 4.
func (e *engine) reportPalette(rest string) {
	fields := strings.SplitN(rest, ";", 2*256+1)
	for i := 0; i+1 < len(fields); i += 2 {
		n, err := strconv.ParseUint(fields[i], 10, 8)
		if err == nil {
			e.reportColor("4;"+strconv.Itoa(int(n)), fields[i+1], e.opt.Palette.color(uint8(n)))
		}
	}
}

func (e *engine) reportColor(number, query string, c RGB) {
	if query == "?" {
		e.replyf("\x1b]%s;rgb:%02x%02x/%02x%02x/%02x%02x\x1b\\", number, c.R, c.R, c.G, c.G, c.B, c.B)
	}
}

// clipboard takes an OSC 52 write. Reads are refused by not answering: what the
// developer has copied is none of the program's business.
func (e *engine) clipboard(rest string) {
	_, data, ok := strings.Cut(rest, ";")
	if !ok || data == "?" || len(data) > base64.StdEncoding.EncodedLen(maxClipboard) {
		return
	}
	text, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		if text, err = base64.RawStdEncoding.DecodeString(data); err != nil {
			return
		}
	}
	e.event(EventClipboard, string(text))
}

// event keeps what the program asked for until TakeEvents. Repeated bells are one, and
// of several states only the last counts. When there is too much, the newest is left
// out.
func (e *engine) event(kind EventKind, text string) {
	if kind == EventBell || kind == EventStatus {
		e.events = slices.DeleteFunc(e.events, func(old Event) bool { return old.Kind == kind })
	}
	size := len(text)
	for _, old := range e.events {
		size += len(old.Text)
	}
	if len(e.events) < maxEvents && size <= maxEventBytes {
		e.events = append(e.events, Event{Kind: kind, Text: text})
	}
}

// TakeEvents implements Emulator.
func (e *engine) TakeEvents() []Event {
	ev := e.events
	e.events = nil
	return ev
}
