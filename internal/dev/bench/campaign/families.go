package campaign

import (
	"fmt"
	"slices"
)

// family is a kind of load, autoscaler or pods, of which each case has other parameters.
type family struct {
	name  string
	cases int
	// build fills in the i-th case of defaults.
	build func(c *Case, r random, i int)
}

// families are all. The order in which a case draws its parameters is a part of it: with another order, or another
// name, it is another case, and earlier results cannot be compared.
var families = slices.Concat(loadFamilies, podFamilies, nodeFamilies, objectFamilies, metricFamilies)

// Cases are all, in the order of the families.
func Cases() []*Case {
	var all []*Case
	for i := range families {
		all = append(all, families[i].all()...)
	}
	return all
}

func (f *family) all() []*Case {
	all := make([]*Case, f.cases)
	for i := range all {
		c, r := newCase(f.name, i)
		f.build(c, r, i)
		for k := range c.Load {
			c.Load[k] *= float64(c.TargetPercent) / 100
		}
		all[i] = c
	}
	return all
}

// note sets what sets the case apart.
func (c *Case) note(format string, args ...any) { c.Note = fmt.Sprintf(format, args...) }
