package main

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap grows before what is no longer used is
// collected. Most of a controller's memory are caches, which stay, and Go's default
// of 100 holds as much again for garbage. A decision leaves 3 kB of it: at 2,000
// decisions a second and 42 MB of caches that is a collection each 3 s instead of
// each 7 s, reckoned to cost a hundredth of a core.
const heapGrowth = 40

// holdHeap is for what runs for long; GOGC and GOMEMLIMIT are heeded as in any
// program in Go.
func holdHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
