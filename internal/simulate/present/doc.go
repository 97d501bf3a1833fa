// Package present writes what simulations came to: as a table for people, as JSON and
// as CSV.
package present
