//go:build !unix

package podendpoint

import "math"

// maxOpen is unlimited: this system has no limit that can be read.
func maxOpen() int64 { return math.MaxInt64 }
