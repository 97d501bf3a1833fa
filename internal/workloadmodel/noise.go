package workloadmodel

import "hash/fnv"

// Randomness is a pure function of (seed, name, second) instead of a shared generator, so that a pod's numbers depend
// neither on the order in which pods were added nor on the other pods.

// nameSeed mixes the model's seed with a name.
func nameSeed(seed uint64, name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash never fails to write
	return mix(seed ^ h.Sum64())
}

// mix returns the finaliser of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// signedUnit maps 64 random bits to [-1, 1).
func signedUnit(bits uint64) float64 {
	return float64(bits>>11)/(1<<52) - 1
}
