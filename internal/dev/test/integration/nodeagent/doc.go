// Package nodeagent tests that the controller, with only the permissions of config/ and config/node-agent, gives the
// agent of a node its certificate and reads its samples, and that the kubelet replaces the agent when it ends.
package nodeagent
