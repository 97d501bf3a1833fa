package histogram

import vertical "github.com/plimsoll-dev/plimsoll/internal/decide/vertical"

// Packed has the histograms of a container's resources, with their buckets in one slice, to save memory for each
// container.
type Packed struct {
	words cells
	// cut is the index at which memory's buckets begin.
	cut       int
	total     [vertical.Resources]float64
	reference [vertical.Resources]vertical.Stamp
}

// Get returns the histogram of one resource. Its weights are those in p; after a change it must be Put back.
func (p *Packed) Get(r vertical.Resource) Histogram {
	words := p.words[:p.cut:p.cut]
	if r == vertical.Memory {
		words = p.words[p.cut:len(p.words):len(p.words)]
	}
	return Histogram{cells: words, total: p.total[r], reference: p.reference[r]}
}

// Put replaces the histogram of that resource.
func (p *Packed) Put(r vertical.Resource, h Histogram) {
	was, other := p.Get(r), p.Get(1-r)
	p.total[r], p.reference[r] = h.total, h.reference
	if len(h.cells) == len(was.cells) {
		copy(was.cells, h.cells) // onto itself, unless h has a new slice
		return
	}
	words := make(cells, len(h.cells)+len(other.cells))
	p.cut = len(words) - len(h.cells)
	if r == vertical.CPU {
		p.cut = len(h.cells)
		copy(words, h.cells)
		copy(words[p.cut:], other.cells)
	} else {
		copy(words, other.cells)
		copy(words[p.cut:], h.cells)
	}
	p.words = words
}

// Clone shares nothing with p.
func (p *Packed) Clone() Packed {
	copied := *p
	copied.words = p.words.clone()
	return copied
}
