package text

import "bytes"

// typeLine begins the line of a text that says of what type the next family is.
var typeLine = []byte("\n# TYPE ")

// Cut finds where a text that is still arriving has said all that is wanted: where
// another family begins after all of them. A kubelet writes more than half of its
// text behind that place, which then need not be decompressed. It must be a set of
// families that come each in one piece, as the format demands.
type Cut struct {
	// Families are those that are wanted.
	Families Families

	seen Families
	// pos is up to where the text was searched.
	pos int
}

// In looks at the text as far as it has arrived, which each time goes on where it
// ended before; the end is behind a line end.
func (c *Cut) In(arrived []byte) (end int, found bool) {
	for {
		begin := bytes.Index(arrived[c.pos:], typeLine)
		if begin < 0 {
			// Half of a beginning may stand at the end.
			c.pos = max(c.pos, len(arrived)-len(typeLine)+1)
			return 0, false
		}
		begin += c.pos
		name := arrived[begin+len(typeLine):]
		length := bytes.IndexByte(name, ' ')
		if length < 0 {
			c.pos = begin
			return 0, false
		}
		family := familyOf(name[:length])
		if wanted := c.Families.Has(family); !wanted && c.seen == c.Families {
			return begin + 1, true
		} else if wanted {
			c.seen |= Of(family)
		}
		c.pos = begin + len(typeLine)
	}
}
