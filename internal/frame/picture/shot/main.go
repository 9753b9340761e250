// Command shot makes a picture of a terminal screen, for the documentation:
//
//	tmux capture-pane -e -p | go run ./internal/frame/picture/shot 80x24 > screen.png
//
// It reads what a terminal would be sent, from standard input, and writes a PNG.
// Further arguments are font files for glyphs that the embedded font lacks; without
// any, the usual system fonts are used where they exist.
package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io"
	"os"

	"lazaret.dev/lazaret/internal/frame"
	"lazaret.dev/lazaret/internal/frame/picture"
	"lazaret.dev/lazaret/internal/term"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "shot:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	var cols, rows int
	if len(args) == 0 {
		return errors.New("usage: shot COLSxROWS [FONT…] < screen > png")
	}
	if _, err := fmt.Sscanf(args[0], "%dx%d", &cols, &rows); err != nil || cols < 1 || rows < 1 || cols > 1000 || rows > 1000 {
		return fmt.Errorf("size %q is not COLSxROWS, such as 80x24", args[0])
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return fmt.Errorf("read screen: %w", err)
	}
	fonts := args[1:]
	if len(fonts) == 0 {
		fonts = picture.SystemFonts()
	}
	o, err := picture.Default(fonts...)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(out)
	if err := png.Encode(w, picture.Paint(screen(data, cols, rows), o)); err != nil {
		return fmt.Errorf("write picture: %w", err)
	}
	return w.Flush()
}

// screen replays captured output. A capture has bare line feeds and one at its end
// that must not scroll the first line away.
func screen(data []byte, cols, rows int) *frame.Grid {
	data = bytes.TrimSuffix(data, []byte("\n"))
	e := term.New(cols, rows, term.Options{Engine: term.Native})
	e.Write([]byte("\x1b[20h"))
	e.Write(data)
	g := e.Frame(0)
	if !bytes.Contains(data, []byte("\x1b[?25h")) {
		g.Cursor.Visible = false // a capture does not say where it is
	}
	return g
}
