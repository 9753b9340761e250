package themes

import (
	"slices"

	"lazaret.dev/lazaret/internal/fault"
	"lazaret.dev/lazaret/internal/frame"
)

// Theme is one complete look.
type Theme struct {
	Name   string
	styles [tokenCount]frame.Style
}

// Style returns how a token looks.
func (t Theme) Style(k Token) frame.Style { return t.styles[k] }

// Names lists the built-in themes, the default first.
func Names() []string { return []string{"dark", "light", "high-contrast", "terminal-16"} }

// Lookup returns a built-in theme; "" is the default. With noColor (the NO_COLOR
// convention, no-color.org) whatever was asked for, only attributes remain.
func Lookup(name string, noColor bool) (Theme, error) {
	if name == "" {
		name = Names()[0]
	}
	if !slices.Contains(Names(), name) {
		return Theme{}, &fault.Error{
			Kind:    fault.Config,
			Message: "unknown theme " + name,
			Fix:     "set [ui] theme to one of: dark, light, high-contrast, terminal-16",
		}
	}
	if noColor {
		return build("no-color", palette{}), nil
	}
	return build(name, palettes()[name]), nil
}

// palette is the few colours a theme is made of.
type palette struct {
	text, muted, panel, bar, line, lineFocused     frame.Color
	accent, danger, warning, success, quoted       frame.Color
	focusFG, focusBG, alertFG, alertBG, fieldBG    frame.Color
	selectedFG, selectedBG, markFG, markBG, onMark frame.Color
}

// build spells a palette out into tokens. The attributes alone, without any
// colour, must tell apart what differs in meaning.
func build(name string, p palette) Theme {
	const reverse, bold, dim, underline = frame.Reverse, frame.Bold, frame.Dim, frame.Underline
	colourless := p == palette{}
	invert := func(a frame.Attr) frame.Attr {
		if colourless {
			return a | reverse
		}
		return a
	}
	faint, ruled := frame.Attr(0), frame.Attr(0)
	if colourless {
		faint, ruled = dim, underline
	}
	t := Theme{Name: name}
	t.styles = [tokenCount]frame.Style{
		Text:          {FG: p.text, BG: p.panel},
		Muted:         {FG: p.muted, BG: p.panel, Attr: faint},
		Strong:        {FG: p.text, BG: p.panel, Attr: bold},
		Border:        {FG: p.line, BG: p.panel, Attr: faint},
		BorderFocused: {FG: p.lineFocused, BG: p.panel, Attr: bold},
		Title:         {FG: p.muted, BG: p.bar, Attr: ruled},
		TitleFocused:  {FG: p.focusFG, BG: p.focusBG, Attr: invert(bold)},
		Dock:          {FG: p.text, BG: p.bar},
		DockAlert:     {FG: p.alertFG, BG: p.alertBG, Attr: invert(bold)},
		Selected:      {FG: p.selectedFG, BG: p.selectedBG, Attr: invert(bold)},
		Key:           {FG: p.accent, BG: p.panel, Attr: bold},
		Accent:        {FG: p.accent, BG: p.panel, Attr: bold},
		Danger:        {FG: p.danger, BG: p.panel, Attr: bold},
		Warning:       {FG: p.warning, BG: p.panel, Attr: bold},
		Success:       {FG: p.success, BG: p.panel},
		Field:         {FG: p.text, BG: p.fieldBG, Attr: underline},
		FieldCursor:   {FG: p.selectedFG, BG: p.selectedBG, Attr: invert(0)},
		Marked:        {FG: p.markFG, BG: p.markBG, Attr: invert(0)},
		Match:         {FG: p.onMark, BG: p.alertBG, Attr: invert(bold)},
		Quoted:        {FG: p.quoted, BG: p.panel},
	}
	return t
}
