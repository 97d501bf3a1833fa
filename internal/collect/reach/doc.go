// Package reach determines the addresses that Plimsoll connects to for metrics that it reads itself. Any author of a
// WorkloadAutoscaler chooses the server, so the server is assumed to be chosen by an attacker: it must not be the
// cloud's metadata service, a node, the controller's own pod, or a server that only another namespace can connect to.
//
// Rules are a function of an address or of a server's name. The Dialer resolves a name once, and connects to an address
// that the rules permit, never to the name: a second response of DNS has no effect.
package reach
