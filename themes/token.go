package themes

// Token names what a cell means.
type Token uint8

// The tokens. Their order is the order of the rows of a theme.
const (
	Text          Token = iota // plain chrome text
	Muted                      // secondary text
	Strong                     // headings, names
	Border                     // lines between panes, boxes
	BorderFocused              // the same beside the pane that has the keyboard
	Title                      // title bar of a pane
	TitleFocused               // title bar of the pane that has the keyboard
	Dock                       // the bottom line
	DockAlert                  // the bottom line's part that wants attention
	Selected                   // the current row of a list
	Key                        // a key's name
	Accent                     // what a view wants seen first
	Danger                     // errors, refusals, dangerous actions
	Warning                    // sentences the reader must see
	Success                    // it worked, it runs
	Field                      // a text field
	FieldCursor                // the position in it
	Marked                     // text selected in copy mode
	Match                      // a search hit in copy mode
	Quoted                     // guest-supplied tokens, so that quotes and text differ
	tokenCount
)

// Tokens returns every token, for tests and previews.
func Tokens() []Token {
	all := make([]Token, tokenCount)
	for i := range all {
		all[i] = Token(i)
	}
	return all
}
