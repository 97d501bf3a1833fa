// Package nodeagent serves the usage of containers of its node, as a kubelet does, but from their cgroups at the moment
// of the request rather than from samples of its own period.
//
// It reads the containers that a request names ([selection]), and labels their samples as the request demands: cgroups
// have UIDs and IDs, and the agent cannot read the API. There is no timer between requests, so that an agent without
// requests costs nothing: ten seconds after the last request the files are closed.
//
// Only a client with a certificate of Plimsoll's own CA gets a response ([Identity]).
package nodeagent
