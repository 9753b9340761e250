package main

// hidden maps the first argument of a hidden mode to what runs it. Lazaret starts
// itself in these modes; nobody types them.
var hidden = map[string]func(args []string) int{}

// hiddenMode returns the hidden mode args ask for, if any.
func hiddenMode(args []string) (func([]string) int, bool) {
	if len(args) < 2 {
		return nil, false
	}
	run, ok := hidden[args[1]]
	return run, ok
}
