// Package cluster reads the data for the page of plimsoll ui with the permissions of the command's user: it watches
// lists of autoscalers, and explains one of them like plimsoll explain. It writes nothing.
package cluster
