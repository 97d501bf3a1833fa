// Package combined lets a horizontal and a vertical autoscaler act on one workload
// under virtual time, with the cores that decide in a cluster, and looks for loops
// between them.
package combined
