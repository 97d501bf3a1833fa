// Package flags has the groups of flags that several commands share.
package flags
