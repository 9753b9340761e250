// Package picture paints a grid of cells as an image, for the documentation. It
// promises that the same grid and options give the same pixels wherever the same
// font files are given. It never imports an emulator, an event loop or a theme.
package picture
