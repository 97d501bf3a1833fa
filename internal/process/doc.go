// Package process is what Plimsoll's long-running processes have in common: their log,
// their memory limit, the way to the API server, leader election and profiles. The
// packages below it wire one process each, from a Config.
package process
