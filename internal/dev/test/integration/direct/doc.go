// Package direct tests that Plimsoll decides on the kubelets' samples as soon as they arrive, and its behaviour when
// kubelets cannot be read.
package direct
