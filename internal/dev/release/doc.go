// Package release builds a release: programs for each platform, an image, what is applied to a cluster, and the lists
// that describe them. The same commit gives the same bytes, in any folder, with the same release of Go.
//
// GoReleaser would replace what compiles, packs and sums, a fifth of this. The manifests, the chart, the texts of
// licences and the archive of the image would remain, and its bill of materials is another program's, which reads
// files; here it comes from what the go command linked. GoReleaser 2.18 itself is 369 modules and needs a newer Go.
package release
