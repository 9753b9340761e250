package gvisor

// Decode is decode, for the fuzz test.
var Decode = decode

// MaxAnswer is the bound on an answer, in bytes.
const MaxAnswer = maxAnswer
