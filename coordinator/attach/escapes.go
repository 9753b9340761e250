package attach

// escapes finds the commands typed to lazaret itself, in the form known from
// remote terminals: at the start of a line, "~." ends the session, "~^Z" stops
// this process, and "~~" is one "~".
type escapes struct {
	midLine bool
	tilde   bool
}

type escape int

const (
	escapeNone escape = iota
	escapeEnd
	escapeSuspend
)

// filter returns what goes to the program and the command typed, if any. Keys
// behind a command in the same chunk are dropped.
func (e *escapes) filter(chunk []byte) (pass []byte, command escape) {
	for _, b := range chunk {
		if e.tilde {
			e.tilde = false
			switch b {
			case '.':
				return pass, escapeEnd
			case 0x1a:
				return pass, escapeSuspend
			case '~':
			default:
				pass = append(pass, '~')
			}
		} else if b == '~' && !e.midLine {
			e.tilde = true
			continue
		}
		pass = append(pass, b)
		e.midLine = b != '\r' && b != '\n'
	}
	return pass, escapeNone
}
