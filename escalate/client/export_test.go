package client

// What the external tests see.
var (
	SplitWords = splitWords
	QuoteWords = quoteWords
)
