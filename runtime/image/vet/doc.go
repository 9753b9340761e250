// Package vet decides, header by header, whether a layer entry may reach an
// extractor. It owns the rules, the limits and the words of a refusal; a Vetter
// is handed every header of an image in order and either rewrites it into a form
// that is safe to apply, asks for it to be skipped, or refuses the image.
//
// It promises that an accepted header names a path below the root without "..",
// has an owner the id map can express, a known type, only the extended
// attributes on the allow-list, and lies within the limits. It looks at headers
// only: what a path leads to on disk is the worker's question.
//
// It imports the standard library only, and never touches a file.
package vet
