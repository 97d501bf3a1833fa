// Package gitops tests the examples of docs/gitops.md that need no cluster.
package gitops
