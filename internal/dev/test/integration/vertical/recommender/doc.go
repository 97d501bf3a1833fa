// Package recommender tests vertical recommendations on a real API server, with pods whose use the development cluster
// simulates.
package recommender
