package themes

import "lazaret.dev/lazaret/internal/frame"

func hex(v uint32) frame.Color {
	return frame.RGB(uint8(v>>16), uint8(v>>8), uint8(v))
}

// palettes are the built-in colours. contrast_test.go holds every pair to the
// WCAG 2.1 ratio for text (4.5) or for graphics (3).
func palettes() map[string]palette {
	return map[string]palette{
		"dark":          dark(),
		"light":         light(),
		"high-contrast": highContrast(),
		"terminal-16":   terminal16(),
	}
}

func dark() palette {
	return palette{
		text: hex(0xd9dce3), muted: hex(0xa0a8b7), panel: hex(0x171a21), bar: hex(0x232833),
		line: hex(0x6d7789), lineFocused: hex(0x6cc1ff),
		accent: hex(0x7cc8ff), danger: hex(0xff8f8f), warning: hex(0xffcf6b), success: hex(0x8fe3a1), quoted: hex(0xf2e3b3),
		focusFG: hex(0x0b1017), focusBG: hex(0x6cc1ff), alertFG: hex(0x1a1200), alertBG: hex(0xffcf6b), fieldBG: hex(0x2b3240),
		selectedFG: hex(0xffffff), selectedBG: hex(0x2f5f95), markFG: hex(0x0b1017), markBG: hex(0xa9d3ff), onMark: hex(0x1a1200),
	}
}

func light() palette {
	return palette{
		text: hex(0x22252b), muted: hex(0x535a66), panel: hex(0xf6f6f3), bar: hex(0xe3e5e8),
		line: hex(0x7b828e), lineFocused: hex(0x0b5cad),
		accent: hex(0x0b5cad), danger: hex(0xa8101c), warning: hex(0x7a4a00), success: hex(0x14652b), quoted: hex(0x5b3a8c),
		focusFG: hex(0xffffff), focusBG: hex(0x0b5cad), alertFG: hex(0x241800), alertBG: hex(0xffc64d), fieldBG: hex(0xffffff),
		selectedFG: hex(0xffffff), selectedBG: hex(0x1f4f86), markFG: hex(0x0b1017), markBG: hex(0xa9d3ff), onMark: hex(0x241800),
	}
}

func highContrast() palette {
	black, white := hex(0x000000), hex(0xffffff)
	return palette{
		text: white, muted: white, panel: black, bar: black, line: white, lineFocused: hex(0xffff00),
		accent: hex(0x66d9ff), danger: hex(0xff9999), warning: hex(0xffff00), success: hex(0x7dff7d), quoted: white,
		focusFG: black, focusBG: hex(0xffff00), alertFG: black, alertBG: hex(0xffff00), fieldBG: hex(0x333333),
		selectedFG: black, selectedBG: white, markFG: black, markBG: hex(0x66d9ff), onMark: black,
	}
}

// terminal16 names only the sixteen colours the developer's terminal defines, on
// its own background, so it follows whatever palette that terminal has.
func terminal16() palette {
	i := frame.Indexed
	return palette{
		lineFocused: i(6), accent: i(6), danger: i(1), warning: i(3), success: i(2),
		focusFG: i(0), focusBG: i(6), alertFG: i(0), alertBG: i(3),
		selectedFG: i(15), selectedBG: i(4), markFG: i(0), markBG: i(7), onMark: i(0),
	}
}
