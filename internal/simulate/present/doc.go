// Package present writes the results of simulations: as a table, as JSON and as
// CSV.
package present
