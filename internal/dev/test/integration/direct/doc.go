// Package direct tests that Plimsoll decides on what the kubelets say as soon as they say it, and what it does when
// they cannot be read.
package direct
