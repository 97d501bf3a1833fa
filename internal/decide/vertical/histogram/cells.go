package histogram

import "math"

// perGroup is the number of buckets that share a word for their numbers.
const perGroup = 8

// cells has the buckets with a weight, in ascending order, packed in groups of nine words: the first has the numbers of
// eight buckets in its eight bytes, the others their weights. The last group is as short as possible.
type cells []uint64

// len returns the number of cells: every nine words have eight.
func (c cells) len() int { return len(c) - (len(c)+perGroup)/(perGroup+1) }

// words returns the number of words for n cells.
func words(n int) int { return n + (n+perGroup-1)/perGroup }

func (c cells) bucket(i int) uint64 {
	return c[i/perGroup*(perGroup+1)] >> (i % perGroup * 8) & 0xff
}

func (c cells) weight(i int) float64 {
	return math.Float64frombits(c[i/perGroup*(perGroup+1)+1+i%perGroup])
}

func (c cells) setWeight(i int, weight float64) {
	c[i/perGroup*(perGroup+1)+1+i%perGroup] = math.Float64bits(weight)
}

func (c cells) set(i int, bucket uint64, weight float64) {
	numbers, shift := &c[i/perGroup*(perGroup+1)], i%perGroup*8
	*numbers = *numbers&^(0xff<<shift) | bucket<<shift
	c.setWeight(i, weight)
}

// find returns the index of the bucket, or the index to insert it at.
func (c cells) find(bucket uint64) (i int, found bool) {
	low, high := 0, c.len()
	for low < high {
		middle := (low + high) / 2
		if c.bucket(middle) < bucket {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < c.len() && c.bucket(low) == bucket
}

// insert inserts a cell at i. It allocates no spare capacity: new buckets are rare, and there is a histogram for each
// container.
func (c cells) insert(i int, bucket uint64, weight float64) cells {
	n := c.len()
	size := words(n + 1)
	if size <= cap(c) {
		clear(c[len(c):size])
		c = c[:size]
	} else {
		larger := make(cells, size)
		copy(larger, c)
		c = larger
	}
	for j := n; j > i; j-- {
		c.set(j, c.bucket(j-1), c.weight(j-1))
	}
	c.set(i, bucket, weight)
	return c
}

// keep removes the cells for which wanted is false, in place.
func (c cells) keep(wanted func(weight float64) bool) cells {
	n := 0
	for i := range c.len() {
		if weight := c.weight(i); wanted(weight) {
			c.set(n, c.bucket(i), weight)
			n++
		}
	}
	return c[:words(n)]
}

// clone shares nothing with c.
func (c cells) clone() cells {
	if len(c) == 0 {
		return nil
	}
	copied := make(cells, len(c))
	copy(copied, c)
	return copied
}

// A bucket's number must fit into a byte; otherwise this does not compile.
const _ = uint8(Buckets - 1)
