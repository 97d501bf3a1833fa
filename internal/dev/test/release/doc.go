// Package release builds a release twice, in two folders, compares every byte, and checks what is in it: by running the
// program, with sha256sum, helm and krew, and by comparing the files with each other. Its tests have the build tag
// release: make test-release.
package release
