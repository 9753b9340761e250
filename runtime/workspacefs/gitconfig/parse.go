package gitconfig

import (
	"bytes"
	"fmt"
	"strings"
)

// Parse reads a configuration file. Its errors are ErrSyntax, with the number of
// the line, and ErrTooLarge.
//
//	file    = [BOM] { space | comment | section | setting }
//	section = "[" name { "." name } [ spaces `"` subsection `"` ] "]"
//	setting = key blanks ( "=" value | end of line )
//	comment = ( "#" | ";" ) to the end of the line
//
// A setting may follow a section on its line. Names are letters, digits and "-", keys
// begin with a letter. The end of the file ends a line.
func Parse(data []byte) (File, error) {
	if len(data) > MaxFile {
		return File{}, fmt.Errorf("%d bytes: %w", len(data), ErrTooLarge)
	}
	text := string(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")))
	p := parser{text: strings.ReplaceAll(text, "\r\n", "\n")}
	nul := strings.IndexByte(p.text, 0)
	if nul < 0 && p.file() {
		return File{vars: p.vars}, nil
	}
	read := max(nul, min(p.at-1, len(p.text)))
	return File{}, fmt.Errorf("line %d: %w", 1+strings.Count(p.text[:read], "\n"), ErrSyntax)
}

// A parser goes through the text byte by byte. Its methods return false at what is
// no configuration.
type parser struct {
	text    string
	at      int
	vars    []Var
	section Var // the names for what follows
}

// next takes one byte; the text ends in as many line feeds as are asked for.
func (p *parser) next() byte {
	c := p.peek()
	p.at++
	return c
}

func (p *parser) peek() byte {
	if p.at >= len(p.text) {
		return '\n'
	}
	return p.text[p.at]
}

func (p *parser) file() bool {
	for p.at < len(p.text) {
		ok := true
		switch c := p.next(); {
		case isSpace(c):
		case c == '#' || c == ';':
			p.comment()
		case c == '[':
			ok = p.header()
		case isLetter(c):
			p.at--
			ok = p.setting()
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

func (p *parser) comment() {
	for p.next() != '\n' {
	}
}

// header reads a section's header behind the "[".
func (p *parser) header() bool {
	start := p.at
	for isName(p.peek()) || p.peek() == '.' {
		p.at++
	}
	name := strings.ToLower(p.text[start:p.at])
	var quoted string
	c := p.next()
	spaced := isSpace(c)
	if spaced {
		var ok bool
		if quoted, ok = p.subsection(c); !ok {
			return false
		}
		c = p.next()
	}
	if c != ']' || name == "" && !spaced {
		return false
	}
	// Git joins all names by dots. The first part is the section, the rest one subsection.
	v := Var{}
	v.Section, v.Subsection, v.Named = strings.Cut(name, ".")
	switch {
	case spaced && v.Named:
		v.Subsection += "." + quoted
	case spaced:
		v.Subsection, v.Named = quoted, true
	}
	p.section = v
	return true
}

// subsection reads a quoted name; c is the space before it. A backslash makes the next
// byte stand for itself, whichever it is.
func (p *parser) subsection(c byte) (string, bool) {
	for isSpace(c) {
		if c == '\n' {
			return "", false
		}
		c = p.next()
	}
	if c != '"' {
		return "", false
	}
	var name strings.Builder
	for c = p.next(); c != '"'; c = p.next() {
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", false
		}
		name.WriteByte(c)
	}
	return name.String(), true
}

// setting reads a key and its value.
func (p *parser) setting() bool {
	start := p.at
	for isName(p.peek()) {
		p.at++
	}
	v := p.section
	v.Key = strings.ToLower(p.text[start:p.at])
	c := p.next()
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	ok := true
	switch c {
	case '\n':
		v.Value, v.Bare = "true", true
	case '=':
		v.Value, ok = p.value()
	default:
		ok = false
	}
	p.vars = append(p.vars, v)
	return ok
}

// value reads what is behind the "=" to the end of the line, or of the last one if a
// backslash ends a line. White space around it goes, unless it is quoted; inside it
// stays as it is (before version 2.45 git made it spaces).
func (p *parser) value() (string, bool) {
	var value, space strings.Builder // space may turn out to be inside
	quoted := false
	for {
		c := p.next()
		switch {
		case c == '\n':
			return value.String(), !quoted
		case isSpace(c) && !quoted:
			if value.Len() > 0 {
				space.WriteByte(c)
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			p.comment()
			return value.String(), true
		}
		value.WriteString(space.String())
		space.Reset()
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			if !p.escape(&value) {
				return "", false
			}
		default:
			value.WriteByte(c)
		}
	}
}

// escape reads what is behind a backslash.
func (p *parser) escape(value *strings.Builder) bool {
	switch c := p.next(); c {
	case '\n': // the value goes on in the next line
	case 't':
		value.WriteByte('\t')
	case 'b':
		value.WriteByte('\b')
	case 'n':
		value.WriteByte('\n')
	case '\\', '"':
		value.WriteByte(c)
	default:
		return false
	}
	return true
}

// The classes of git, which leave out the vertical tab and the form feed.
func isSpace(c byte) bool  { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isName(c byte) bool   { return isLetter(c) || '0' <= c && c <= '9' || c == '-' }
