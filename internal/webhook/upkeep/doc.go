// Package upkeep does what the admission server needs beside answering requests: it refreshes the serving
// certificates, keeps the MutatingWebhookConfiguration that the API server finds the server by, and renews the
// Lease without which the updater evicts nothing.
package upkeep
