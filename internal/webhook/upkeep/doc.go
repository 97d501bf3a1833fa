// Package upkeep does the background work of the admission server: it refreshes the serving certificates, maintains the
// MutatingWebhookConfiguration that points the API server to it, and renews the Lease without which the updater evicts
// nothing.
package upkeep
