//go:build !unix

package podendpoint

import "math"

// maxOpen is how many connections may be open: this system has no limit that could be read.
func maxOpen() int64 { return math.MaxInt64 }
