// Package architecture has the rules between the packages: tests that fail when an import, a size or a habit crosses
// one. The linter reads one file at a time; what needs the import graph of a whole program, or all files of a
// package, is here. Each rule takes values, so that the rule itself has a test that shows it failing.
package architecture
