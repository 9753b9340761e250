package list

// List is the state of a list: Len rows seen through a window of Height rows.
type List struct {
	cursor, top, rows, height int
}

// SetLen says how many rows there are; the cursor stays in range.
func (l *List) SetLen(n int) { l.rows = max(0, n); l.clamp() }

// SetHeight says how many rows are visible.
func (l *List) SetHeight(h int) { l.height = max(1, h); l.clamp() }

// Cursor returns the current row, -1 when there is none.
func (l *List) Cursor() int {
	if l.rows == 0 {
		return -1
	}
	return l.cursor
}

// Top returns the first visible row.
func (l *List) Top() int { return l.top }

// Select moves the cursor to a row.
func (l *List) Select(i int) { l.cursor = i; l.clamp() }

// Move moves the cursor; it stops at either end.
func (l *List) Move(by int) { l.cursor += by; l.clamp() }

// Page moves by windows.
func (l *List) Page(by int) { l.Move(by * max(1, l.height-1)) }

// Key handles the keys every list has, and reports whether it was one.
func (l *List) Key(chord string) bool {
	switch chord {
	case "up", "k":
		l.Move(-1)
	case "down", "j":
		l.Move(1)
	case "pgup":
		l.Page(-1)
	case "pgdown":
		l.Page(1)
	case "home", "g":
		l.Select(0)
	case "end", "G":
		l.Select(l.rows - 1)
	default:
		return false
	}
	return true
}

func (l *List) clamp() {
	l.cursor = max(0, min(l.cursor, l.rows-1))
	h := max(1, l.height)
	if l.cursor < l.top {
		l.top = l.cursor
	}
	if l.cursor >= l.top+h {
		l.top = l.cursor - h + 1
	}
	l.top = max(0, min(l.top, l.rows-h))
}
