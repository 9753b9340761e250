package term

import (
	"time"

	"lazaret.dev/lazaret/internal/frame"
)

// engine is the terminal in front of a core: it parses what the program writes,
// decides what that means on the screen, and tells the core which cells change.
type engine struct {
	parser     parser
	cols, rows int
	opt        Options

	main, alt *screen // alt is nil until the program first uses it
	on        *screen // the one shown
	cursor    cursor
	margins   struct{ top, bottom int }
	tabs      []bool
	last      lastCluster

	mode     modes
	history  history
	text     texts
	sync     syncState
	replies  []byte
	events   []Event
	title    string
	scratch  []byte
	rowCells []glyph
}

// texts are the tables that give cells their meaning, shared by both screens.
type texts struct {
	styles   styles
	clusters clusters
	widths   widths
	strings  runeStrings
	skip     int // sweeps to leave out after one that freed little
}

// screen is the primary or the alternate screen. Its core may be wider than what is
// shown: cells to the right survive a pane that is made narrow for a while.
type screen struct {
	core  core
	width int // columns of the core
	saved cursor
	kitty kittyFlags
}

// cursor is what DECSC saves.
type cursor struct {
	x, y     int
	wrap     bool // the last column was written; the next character wraps
	origin   bool
	style    frame.Style
	styleID  uint32
	charsets [2]byte // designated as G0 and G1: 'B' or '0'
	shift    int     // which of them is in use
}

// lastCluster is the last printed grapheme cluster. It stays open for characters
// that join it, also in a later write, until anything but printing happens.
type lastCluster struct {
	open  bool
	x, y  int
	text  string // empty while it is the one character in end
	width int
	end   rune // its last character
}

func (l *lastCluster) string() string {
	if l.text == "" {
		return string(l.end)
	}
	return l.text
}

// New returns an emulator with a blank screen.
func New(cols, rows int, opt Options) Emulator {
	opt = opt.withDefaults()
	e := &engine{cols: max(1, cols), rows: max(1, rows), opt: opt}
	e.parser.to = e
	e.text.styles = newStyles()
	e.text.strings = make(runeStrings)
	e.history.limit(opt.Scrollback, opt.ScrollbackBytes)
	e.main = e.newScreen()
	e.on = e.main
	e.reset()
	return e
}

func (e *engine) newScreen() *screen {
	return &screen{core: newCore(e.opt.Engine, e.cols, e.rows), width: e.cols, saved: newCursor()}
}

func newCursor() cursor { return cursor{charsets: [2]byte{'B', 'B'}} }

// reset is RIS: everything but the history.
func (e *engine) reset() {
	e.useAlternate(false)
	e.main.saved, e.main.kitty = newCursor(), kittyFlags{}
	e.cursor = newCursor()
	e.margins.top, e.margins.bottom = 0, e.rows-1
	e.mode = defaultModes()
	e.tabs = newTabs(e.cols)
	e.last, e.title, e.sync = lastCluster{}, "", syncState{}
	e.eraseRows(0, e.rows-1)
}

func newTabs(cols int) []bool {
	tabs := make([]bool, cols)
	for x := 8; x < cols; x += 8 {
		tabs[x] = true
	}
	return tabs
}

// Write implements Emulator.
func (e *engine) Write(p []byte) {
	e.sync.changed = e.sync.changed || len(p) > 0
	e.parser.write(p)
}

// Title implements Emulator.
func (e *engine) Title() string { return e.title }

// Modes implements Emulator.
func (e *engine) Modes() Modes {
	m := e.mode
	return Modes{
		AltScreen: e.on == e.alt, AppCursor: m.appCursor, AppKeypad: m.appKeypad,
		BracketedPaste: m.bracketedPaste, FocusEvents: m.focus, Synchronized: e.held(),
		Mouse: m.mouse, MouseSGR: m.mouseSGR,
		KittyFlags: e.on.kitty.current, ModifyOtherKeys: m.modifyOtherKeys,
	}
}

// style returns the number of a style, making room in the table when it is full.
func (e *engine) style(st frame.Style) uint32 {
	id, ok := e.text.styles.id(st)
	if !ok {
		e.sweep()
		id, _ = e.text.styles.id(st) // 0, the default, when the screen uses all
	}
	return id
}

// clusterID returns the character for a cluster, false when the screen uses all.
func (e *engine) clusterID(text string, width int) (rune, bool) {
	id, ok := e.text.clusters.id(text, width)
	if !ok {
		e.sweep()
		id, ok = e.text.clusters.id(text, width)
	}
	return id, ok
}

// sweep frees the styles and clusters that no cell uses any more.
func (e *engine) sweep() {
	if e.text.skip > 0 {
		e.text.skip--
		return
	}
	defer func() {
		if e.text.clusters.room() < sweepWorth || e.text.styles.room() < sweepWorth {
			e.text.skip = sweepWorth
		}
	}()
	runes, used := map[rune]bool{}, map[uint32]bool{e.cursor.styleID: true}
	for _, s := range []*screen{e.main, e.alt} {
		if s == nil {
			continue
		}
		used[s.saved.styleID] = true
		for y := range e.rows {
			e.rowCells = s.core.row(y, e.rowCells[:0])
			for _, g := range e.rowCells {
				used[g.style] = true
				if g.r >= firstCluster && g.r <= lastReserved {
					runes[g.r] = true
				}
			}
		}
	}
	e.text.clusters.keep(runes)
	e.text.styles.keep(used)
}

// withDefaults fills in what the caller left open.
func (o Options) withDefaults() Options {
	if o.Engine == "" {
		o.Engine = VT10x
	}
	if o.Scrollback == 0 {
		o.Scrollback = DefaultScrollback
	}
	if o.ScrollbackBytes == 0 {
		o.ScrollbackBytes = DefaultScrollbackBytes
	}
	if o.Palette == (Palette{}) {
		o.Palette = darkPalette()
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.SyncDeadline <= 0 {
		o.SyncDeadline = DefaultSyncDeadline
	}
	if o.Name == "" {
		o.Name = "lazaret"
	}
	return o
}

func darkPalette() Palette {
	p := Palette{Foreground: RGB{0xe5, 0xe5, 0xe5}, Cursor: RGB{0xe5, 0xe5, 0xe5}}
	for i := range p.ANSI {
		p.ANSI[i].R, p.ANSI[i].G, p.ANSI[i].B = frame.PaletteRGB(uint8(i))
	}
	return p
}
