// Package docs tests the documentation: its links, the order of its pages, the reference that is generated from the
// program, and with the build tag site the pages that make docs has built.
package docs
