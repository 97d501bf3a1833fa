package text

import "bytes"

// typeLine begins the line with the type of the next family.
var typeLine = []byte("\n# TYPE ")

// Cut finds the end of the wanted families in a text that is still arriving: the start of another family after all of
// them. A kubelet writes more than half of its text behind it, which then need not be decompressed. Each family of the
// set must come in one piece, as the format demands.
type Cut struct {
	Families Families

	seen Families
	// pos is up to where the text was searched.
	pos int
}

// In searches the text that has arrived so far, from the end of its last search; the end is behind a line end.
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
