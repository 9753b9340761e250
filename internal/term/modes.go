package term

// modes are the terminal modes a program can set, with the value after a reset.
type modes struct {
	autowrap, insert, newline    bool
	cursorVisible, reverseScreen bool
	appCursor, appKeypad         bool
	bracketedPaste, focus        bool
	mouse                        MouseMode
	mouseSGR, altScroll, scheme  bool
	cursorShape                  uint8
	modifyOtherKeys              int
}

func defaultModes() modes { return modes{autowrap: true, cursorVisible: true} }

// setModes is SM, RM, DECSET and DECRST.
func (e *engine) setModes(s *sequence, on bool) {
	for i := range s.n {
		switch m := s.arg(i, 0); {
		case s.prefix == '?':
			e.setPrivate(m, on)
		case m == 4:
			e.mode.insert = on
		case m == 20:
			e.mode.newline = on
		}
	}
}

func (e *engine) setPrivate(m int, on bool) {
	if f := e.privateFlag(m); f != nil {
		*f = on
		return
	}
	switch m {
	case 6:
		e.cursor.origin = on
		e.moveTo(0, 0)
	case 9, 1000, 1002, 1003:
		e.setMouse(m, on)
	case 47, 1047:
		e.useAlternate(on)
	case 1048:
		e.saveOrRestore(on)
	case 1049:
		if on {
			if e.on == e.main {
				e.saveCursor()
			}
			e.useAlternate(true)
			e.eraseRows(0, e.rows-1)
		} else if e.on == e.alt {
			e.useAlternate(false)
			e.restoreCursor()
		}
	case 2026:
		if on {
			e.beginSync()
		} else {
			e.endSync()
		}
	}
}

// privateFlag returns the flag behind a private mode that is nothing but a flag.
func (e *engine) privateFlag(m int) *bool {
	switch m {
	case 1:
		return &e.mode.appCursor
	case 5:
		return &e.mode.reverseScreen
	case 7:
		return &e.mode.autowrap
	case 25:
		return &e.mode.cursorVisible
	case 66:
		return &e.mode.appKeypad
	case 1004:
		return &e.mode.focus
	case 1006:
		return &e.mode.mouseSGR
	case 1007:
		return &e.mode.altScroll
	case 2004:
		return &e.mode.bracketedPaste
	case 2031:
		return &e.mode.scheme
	}
	return nil
}

func (e *engine) setMouse(m int, on bool) {
	mode := MouseMode(0)
	switch m {
	case 9, 1000:
		mode = MouseClick
	case 1002:
		mode = MouseDrag
	case 1003:
		mode = MouseMotion
	}
	if !on {
		mode = MouseOff // whichever was on, as in xterm
	}
	e.mode.mouse = mode
}

func (e *engine) saveOrRestore(save bool) {
	if save {
		e.saveCursor()
	} else {
		e.restoreCursor()
	}
}

// The answers of DECRQM.
const (
	modeUnknown = 0
	modeSet     = 1
	modeReset   = 2
	modeAlways  = 3
	modeNever   = 4
)

func (e *engine) modeState(private bool, m int) int {
	state := func(on bool) int {
		if on {
			return modeSet
		}
		return modeReset
	}
	if !private {
		switch m {
		case 4:
			return state(e.mode.insert)
		case 20:
			return state(e.mode.newline)
		}
		return modeUnknown
	}
	if f := e.privateFlag(m); f != nil {
		return state(*f)
	}
	switch m {
	case 6:
		return state(e.cursor.origin)
	case 1000:
		return state(e.mode.mouse == MouseClick)
	case 1002:
		return state(e.mode.mouse == MouseDrag)
	case 1003:
		return state(e.mode.mouse == MouseMotion)
	case 47, 1047, 1049:
		return state(e.on == e.alt)
	case 2026:
		return state(e.sync.on)
	case 2027:
		if e.opt.NarrowSelector {
			return modeNever
		}
		return modeAlways
	}
	return modeUnknown
}

// kittyFlags are a screen's progressive keyboard flags.
type kittyFlags struct {
	current int
	stack   []int
}

const (
	maxKittyStack = 16
	allKittyFlags = 31
)

func (k *kittyFlags) push(flags int) {
	if len(k.stack) == maxKittyStack {
		k.stack = append(k.stack[:0], k.stack[1:]...)
	}
	k.stack = append(k.stack, k.current)
	k.current = flags & allKittyFlags
}

func (k *kittyFlags) pop(n int) {
	for ; n > 0 && len(k.stack) > 0; n-- {
		k.current = k.stack[len(k.stack)-1]
		k.stack = k.stack[:len(k.stack)-1]
	}
	if n > 0 {
		k.current = 0
	}
}

func (k *kittyFlags) set(flags, how int) {
	flags &= allKittyFlags
	switch how {
	case 1:
		k.current = flags
	case 2:
		k.current |= flags
	case 3:
		k.current &^= flags
	}
}
