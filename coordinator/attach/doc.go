// Package attach shows one Client Session in the terminal, or the pipes, of this
// very process: it is what `lazaret run` is made of.
//
// It promises that the terminal is as it was when it returns or stops, that input
// keeps its order, that a card asking for a decision takes no key that was typed
// before it was there, and that while it is shown nothing of the program reaches
// the terminal and nothing typed reaches the program.
//
// Guest text is drawn only through internal/term's sanitiser.
package attach
