// Package tutorial has the test of docs/tutorial.md.
package tutorial
