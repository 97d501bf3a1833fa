// Package cluster reads for the page of plimsoll ui what the caller of the command may read: lists of autoscalers, that
// it watches, and one of them as plimsoll explain explains it. It writes nothing.
package cluster
