// Package process has the common parts of Plimsoll's long-running processes: their log, their memory limit, the
// connection to the API server, leader election and profiles. The packages below it wire one process each, from a
// Config.
package process
