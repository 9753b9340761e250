package term

// parser is the outer shape of the byte stream, after the DEC state diagram that
// P. Williams published, reduced to UTF-8: bytes from 0x80 up are text, never C1
// controls. It accepts anything: a sequence that is too long, has too many
// parameters, or is broken off is dropped as a whole.
//
//	ground ─ESC─► escape ─[─► csi ──final──► dispatch
//	  ▲            │ ├─]PX^_─► str ─BEL, ESC \─► dispatch
//	  └──final─────┘ └─0x20..2f─► escapeInter
//
// CAN and SUB break off anything; ESC starts anew from anywhere.
type parser struct {
	to    handler
	state state
	seq   sequence
	str   stringSequence
	cut   [4]byte // an unfinished character at the end of the last write
	cutN  int
}

// handler is told what the parser found. Slices are valid during the call only.
type handler interface {
	print(text []byte) // whole characters, none a C0 control or DEL
	execute(c byte)    // C0
	escape(inter, final byte)
	control(s *sequence)
	osc(data []byte)
	dcs(data []byte)
}

type state uint8

const (
	ground state = iota
	inEscape
	inEscapeInter
	inCSI
	inCSIIgnore
	inString
	inStringEscape
)

// The limits on what a program can make the parser hold.
const (
	maxParams = 32
	maxParam  = 1<<16 - 1
	maxOSC    = 192 << 10 // an OSC 52 with 128 KiB of clipboard
	maxDCS    = 4 << 10
)

// sequence is a control sequence. A parameter that was left out is -1.
type sequence struct {
	prefix byte // one of <=>? or 0
	inter  byte // the intermediate; sequences with two are dropped
	final  byte
	params [maxParams]int32
	n      int
	sub    uint32 // bit i: parameter i follows a colon
	broken bool
}

// arg returns parameter i, or def when it is left out.
func (s *sequence) arg(i, def int) int {
	if i >= s.n || s.params[i] < 0 {
		return def
	}
	return int(s.params[i])
}

// count returns parameter i as a repeat count: at least 1, at most limit.
func (s *sequence) count(i, limit int) int { return min(max(1, s.arg(i, 1)), limit) }

func (s *sequence) reset() {
	s.prefix, s.inter, s.final, s.n, s.sub, s.broken = 0, 0, 0, 0, 0, false
}

type stringSequence struct {
	kind byte // the character after ESC
	data []byte
	over bool
}

func (p *parser) write(b []byte) {
	for i := 0; i < len(b); {
		if p.state == ground {
			i += p.text(b[i:])
			if i == len(b) {
				return
			}
		}
		if p.state == inString {
			i += p.collect(b[i:])
			if i == len(b) || p.state == ground {
				continue
			}
		}
		i += p.step(b[i])
	}
}

// text consumes the text at the start of b, in ground state.
func (p *parser) text(b []byte) int {
	n := 0
	for n < len(b) && b[n] >= 0x20 && b[n] != 0x7f {
		n++
	}
	p.emit(b[:n])
	if n < len(b) {
		p.flushCut()
	}
	return n
}

// emit prints text, keeping back a character whose last bytes have not arrived.
func (p *parser) emit(b []byte) {
	for p.cutN > 0 && len(b) > 0 {
		p.cut[p.cutN] = b[0]
		need := p.cutN + 1
		if !fullRune(p.cut[:need]) {
			p.cutN, b = need, b[1:]
			continue
		}
		if b[0]&0xc0 == 0x80 {
			b = b[1:]
		} else {
			need--
		}
		p.cutN = 0
		p.to.print(p.cut[:need])
	}
	if len(b) == 0 {
		return
	}
	tail := cutTail(b)
	if whole := b[:len(b)-tail]; len(whole) > 0 {
		p.to.print(whole)
	}
	p.cutN = copy(p.cut[:], b[len(b)-tail:])
}

// flushCut prints an unfinished character that will not be completed.
func (p *parser) flushCut() {
	if p.cutN > 0 {
		n := p.cutN
		p.cutN = 0
		p.to.print(p.cut[:n])
	}
}

// step consumes one byte outside text; it returns 0 when the byte is to be looked at
// again in the new state.
func (p *parser) step(c byte) int {
	switch {
	case c == 0x1b && p.state == inString:
		p.state = inStringEscape
		return 1
	case c == 0x1b:
		p.state = inEscape
		p.seq.reset()
		return 1
	case c == 0x18, c == 0x1a:
		p.state = ground
		return 1
	case p.state == inStringEscape:
		return p.endString(c)
	case c < 0x20 && p.state != inString:
		p.to.execute(c)
		return 1
	case c == 0x7f:
		return 1
	}
	switch p.state {
	case inEscape, inEscapeInter:
		return p.stepEscape(c)
	case inCSI, inCSIIgnore:
		return p.stepCSI(c)
	}
	return 1
}

func (p *parser) stepEscape(c byte) int {
	switch {
	case c >= 0x80:
		p.state = ground
		return 0
	case c < 0x30:
		p.seq.broken = p.seq.inter != 0
		p.seq.inter = c
		p.state = inEscapeInter
		return 1
	}
	fresh := p.state == inEscape
	p.state = ground
	switch {
	case fresh && c == '[':
		p.state = inCSI
	case fresh && (c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_' || c == 'k'):
		p.state = inString
		p.str = stringSequence{kind: c, data: p.str.data[:0]}
	case !p.seq.broken:
		p.to.escape(p.seq.inter, c)
	}
	return 1
}

func (p *parser) stepCSI(c byte) int {
	s := &p.seq
	switch {
	case c >= 0x80:
		p.state = ground
		return 0
	case c >= 0x40:
		s.final = c
		if p.state = ground; !s.broken {
			p.to.control(s)
		}
	case s.broken:
	case c >= '<' && s.n == 0 && s.prefix == 0 && s.inter == 0:
		s.prefix = c
	case c >= '<': // a private mark where none belongs
		s.broken = true
	case c < 0x30:
		s.broken = s.inter != 0
		s.inter = c
	case s.inter != 0: // a parameter after an intermediate
		s.broken = true
	default:
		s.parameter(c)
	}
	return 1
}

// parameter takes a digit or a separator.
func (s *sequence) parameter(c byte) {
	if s.n == 0 {
		s.params[0], s.n = -1, 1
	}
	switch c {
	case ';', ':':
		if s.n == maxParams {
			s.broken = true
			return
		}
		if c == ':' {
			s.sub |= 1 << s.n
		}
		s.params[s.n] = -1
		s.n++
	default:
		v := max(0, s.params[s.n-1])*10 + int32(c-'0')
		s.params[s.n-1] = min(v, maxParam)
	}
}

// collect takes the content of a string sequence.
func (p *parser) collect(b []byte) int {
	limit := maxDCS
	if p.str.kind == ']' {
		limit = maxOSC
	}
	for i, c := range b {
		switch {
		case c == 0x1b, c == 0x18, c == 0x1a:
			return i
		case c == 0x07 && p.str.kind != 'P':
			p.finishString()
			return i + 1
		case c < 0x20:
		case len(p.str.data) >= limit:
			p.str.over = true
		case p.str.kind == ']' || p.str.kind == 'P':
			p.str.data = append(p.str.data, c)
		}
	}
	return len(b)
}

// endString handles the byte after an ESC inside a string: a backslash ends it,
// anything else begins another sequence and drops the string.
func (p *parser) endString(c byte) int {
	if c == '\\' {
		p.finishString()
		return 1
	}
	p.state = inEscape
	p.seq.reset()
	return 0
}

func (p *parser) finishString() {
	p.state = ground
	switch {
	case p.str.over:
	case p.str.kind == ']':
		p.to.osc(p.str.data)
	case p.str.kind == 'P':
		p.to.dcs(p.str.data)
	}
	if cap(p.str.data) > maxDCS {
		p.str.data = nil // do not keep a big buffer for each pane
	}
}
