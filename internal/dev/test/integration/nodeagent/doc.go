// Package nodeagent tests that the controller, with the rights of config/ and config/node-agent alone, gives the agent
// of a node its certificate and reads its samples, and that the kubelet stands in when the agent ends.
package nodeagent
