package term

// execute implements handler.
func (e *engine) execute(c byte) {
	if c != 0x07 && c != 0 {
		e.last.open = false
	}
	switch c {
	case 0x07:
		e.event(EventBell, "")
	case '\b':
		if e.cursor.x > 0 {
			e.cursor.x--
		}
		e.cursor.wrap = false
	case '\t':
		e.tab(1)
	case '\n', '\v', '\f':
		e.cursor.wrap = false
		e.lineFeed()
		if e.mode.newline {
			e.cursor.x = 0
		}
	case '\r':
		e.cursor.x, e.cursor.wrap = 0, false
	case 0x0e:
		e.cursor.shift = 1
	case 0x0f:
		e.cursor.shift = 0
	}
}

// escape implements handler.
func (e *engine) escape(inter, final byte) {
	switch inter {
	case 0:
		e.plainEscape(final)
	case '(', ')':
		if final != '0' {
			final = 'B' // the national sets are not worth a table; they are ASCII here
		}
		e.cursor.charsets[inter-'('] = final
	case '#':
		if final == '8' {
			e.align()
		}
	}
}

func (e *engine) plainEscape(final byte) {
	e.last.open = false
	switch final {
	case '7':
		e.saveCursor()
	case '8':
		e.restoreCursor()
	case 'D':
		e.cursor.wrap = false
		e.lineFeed()
	case 'E':
		e.cursor.x, e.cursor.wrap = 0, false
		e.lineFeed()
	case 'M':
		e.cursor.wrap = false
		e.reverseFeed()
	case 'H':
		e.tabs[e.cursor.x] = true
	case 'Z':
		e.reply(primaryAttributes)
	case 'c':
		e.reset()
	case '=':
		e.mode.appKeypad = true
	case '>':
		e.mode.appKeypad = false
	}
}

// control implements handler.
func (e *engine) control(s *sequence) {
	if s.final == 'm' && s.prefix == 0 && s.inter == 0 {
		e.setStyle(s)
		return
	}
	if s.final != 'b' {
		e.last.open = false
	}
	switch {
	case s.prefix == 0 && s.inter == 0:
		if !e.move(s) && !e.edit(s) {
			e.manage(s)
		}
	case s.prefix == '?' && s.inter == 0:
		e.privateControl(s)
	case s.inter == '$' && s.final == 'p':
		e.reportMode(s)
	case s.prefix == 0 && s.inter == ' ' && s.final == 'q':
		if n := s.arg(0, 0); n <= 6 {
			e.mode.cursorShape = uint8(n)
		}
	case s.prefix == 0 && s.inter == '!' && s.final == 'p':
		e.softReset()
	case s.inter == 0:
		e.markedControl(s)
	}
}

// move handles the sequences that move the cursor.
func (e *engine) move(s *sequence) bool {
	n := s.count(0, max(e.cols, e.rows))
	switch s.final {
	case 'A':
		e.moveRow(-n)
	case 'B', 'e':
		e.moveRow(n)
	case 'C', 'a':
		e.moveColumn(e.cursor.x + n)
	case 'D':
		e.moveColumn(e.cursor.x - n)
	case 'E':
		e.moveRow(n)
		e.moveColumn(0)
	case 'F':
		e.moveRow(-n)
		e.moveColumn(0)
	case 'G', '`':
		e.moveColumn(n - 1)
	case 'H', 'f':
		e.moveTo(s.count(1, e.cols)-1, s.count(0, e.rows)-1)
	case 'd':
		e.moveTo(e.cursor.x, s.count(0, e.rows)-1)
	case 'I':
		e.tab(n)
	case 'Z':
		e.tab(-n)
	default:
		return false
	}
	return true
}

// edit handles the sequences that change cells.
func (e *engine) edit(s *sequence) bool {
	n := s.count(0, max(e.cols, e.rows))
	switch s.final {
	case '@':
		e.shiftCells(n)
	case 'P':
		e.shiftCells(-n)
	case 'X':
		c := e.cursor
		e.eraseCells(c.x, min(e.cols, c.x+n), c.y, e.eraseStyle())
	case 'J':
		e.eraseDisplay(s.arg(0, 0))
	case 'K':
		e.eraseLine(s.arg(0, 0))
	case 'L':
		e.moveRows(n)
	case 'M':
		e.moveRows(-n)
	case 'S':
		e.scroll(n)
	case 'T':
		if s.n <= 1 { // with five parameters it is mouse tracking
			e.scroll(-n)
		}
	case 'b':
		e.repeat(s.count(0, e.cols*e.rows))
		return true
	default:
		return false
	}
	e.cursor.wrap = false
	return true
}

// manage handles margins, tabs, modes, saved cursors and reports.
func (e *engine) manage(s *sequence) {
	switch s.final {
	case 'r':
		e.setMargins(s)
	case 'g':
		switch s.arg(0, 0) {
		case 0:
			e.tabs[e.cursor.x] = false
		case 3:
			clear(e.tabs)
		}
	case 'h', 'l':
		e.setModes(s, s.final == 'h')
	case 's':
		if s.n == 0 {
			e.saveCursor()
		}
	case 'u':
		if s.n == 0 { // with parameters it is a key report, not ours to obey
			e.restoreCursor()
		}
	case 'n':
		e.reportStatus(s)
	case 'c':
		if s.arg(0, 0) == 0 {
			e.reply(primaryAttributes)
		}
	case 't':
		e.reportWindow(s)
	}
}

func (e *engine) setMargins(s *sequence) {
	top, bottom := s.count(0, e.rows)-1, e.rows-1
	if v := s.arg(1, 0); v > 0 {
		bottom = min(v, e.rows) - 1
	}
	if top < bottom {
		e.margins.top, e.margins.bottom = top, bottom
		e.moveTo(0, 0)
	}
}

// privateControl handles CSI ? ….
func (e *engine) privateControl(s *sequence) {
	switch s.final {
	case 'h', 'l':
		e.setModes(s, s.final == 'h')
	case 'J':
		e.eraseDisplay(s.arg(0, 0))
		e.cursor.wrap = false
	case 'K':
		e.eraseLine(s.arg(0, 0))
		e.cursor.wrap = false
	case 'n':
		e.reportStatus(s)
	case 'u':
		e.replyf("\x1b[?%du", e.on.kitty.current)
	case 'm':
		if s.arg(0, 0) == 4 {
			e.replyf("\x1b[>4;%dm", e.mode.modifyOtherKeys)
		}
	}
}

// markedControl handles CSI >, CSI < and CSI =.
func (e *engine) markedControl(s *sequence) {
	switch string([]byte{s.prefix, s.final}) {
	case ">u":
		e.on.kitty.push(s.arg(0, 0))
	case "<u":
		e.on.kitty.pop(s.count(0, maxKittyStack+1))
	case "=u":
		e.on.kitty.set(s.arg(0, 0), s.arg(1, 1))
	case ">m":
		if s.n == 0 || s.arg(0, 0) == 4 {
			e.mode.modifyOtherKeys = min(s.arg(1, 0), 3)
		}
	case ">n":
		if s.arg(0, 0) == 4 {
			e.mode.modifyOtherKeys = 0
		}
	case ">c":
		e.reply(secondaryAttributes)
	case "=c":
		e.reply(tertiaryAttributes)
	case ">q":
		if s.arg(0, 0) == 0 {
			e.reply("\x1bP>|" + Sanitize(e.opt.Name) + "\x1b\\")
		}
	}
}

// softReset is DECSTR.
func (e *engine) softReset() {
	shape, mouse := e.mode.cursorShape, e.mode.mouse
	e.mode = defaultModes()
	e.mode.cursorShape, e.mode.mouse = shape, mouse
	e.margins.top, e.margins.bottom = 0, e.rows-1
	x, y := e.cursor.x, e.cursor.y
	e.cursor = newCursor()
	e.cursor.x, e.cursor.y = x, y
	e.on.saved = newCursor()
	e.on.kitty = kittyFlags{}
}
