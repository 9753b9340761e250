// Package themes maps the meaning of a piece of chrome (a Token) to how it looks.
// It owns every colour of the dashboard: views name tokens, never colours. A theme
// also works without any colour, so each token that carries meaning differs from
// plain text by an attribute, or the view adds a sign or a word.
//
// It imports internal/frame only, and never a view.
package themes
