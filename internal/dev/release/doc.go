// Package release builds a release: programs for each platform, an image, the manifests for a cluster, and the lists
// that describe them. The same commit gives the same bytes, in any folder, with the same release of Go.
//
// GoReleaser would replace compiling, packing and checksums, a fifth of this. The manifests, the chart, the texts of
// licences and the archive of the image would remain, and its bill of materials comes from another program, which reads
// files; here it comes from the modules that the go command linked. GoReleaser 2.18 itself is 369 modules and needs a
// newer Go.
package release
