// Package prometheus tests what Plimsoll reads from a Prometheus server, and what one
// reads from it, with the real server and promtool: make test-prometheus builds them.
// They are no part of make test, as nothing else needs them.
package prometheus
