// Package nodeagents requests samples from the agents of nodes ([nodeagent]), and stores them as those of kubelets.
//
// A [Client] keeps a connection to each agent, which all [Scraper]s of a process use: the horizontal side's and the
// vertical side's have samples and selections of their own. It shows a certificate of Plimsoll's own authority, and
// expects one that names the node. An agent without one gets it: the client reads the token of the agent's pod, has the
// API server review it, and signs a certificate for the key of that very connection if the token's pod is on that node.
// The agent shows the token only to clients of the authority, so that no other server can get a certificate for this
// node; and the key never leaves the agent. So an agent, or a server in its place, is trusted for its own node alone.
//
// Errors name the node. They repeat nothing that the other side wrote.
//
// [nodeagent]: https://pkg.go.dev/github.com/plimsoll-dev/plimsoll/internal/nodeagent
package nodeagents
