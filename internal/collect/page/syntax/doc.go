// Package syntax reads the parts of a sample's line that Prometheus' text format and
// OpenMetrics have in common: labels, values and timestamps. It allocates only for errors
// and for unusual numbers.
//
// Every text that is handed in must end with a line end, so that no loop over a line has
// to check for the end of the text. Errors do not quote the text: what a stranger wrote is
// not shown.
package syntax
