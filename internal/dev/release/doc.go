// Package release builds a release: programs for each platform, an image, what is applied to a cluster, and the lists
// that describe them. The same commit gives the same bytes, in any folder, with the same release of Go.
package release
