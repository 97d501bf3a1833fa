// Package upkeep does the admission server's work beside answering requests: it refreshes the serving certificates,
// maintains the MutatingWebhookConfiguration that points the API server to it, and renews the Lease without which
// the updater evicts nothing.
package upkeep
