// Package node tests Plimsoll on a real node: its own pods from config/, behind their real Service, beside containers
// that the kernel kills, throttles and resizes. It sets up a control plane and a node on this machine as root and
// removes both again: make test-node runs it. It is not part of make test, which needs no root.
package node
