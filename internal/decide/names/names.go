// Package names has sets of named switches, for flags whose value is none, default, or a list.
package names

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Names has the name of each switch; bit i has the name with index i. There are at most 63.
type Names []string

// Family has the names of the switches that belong together. Its zero value must be usable.
type Family interface{ Names() Names }

// Set is a set of switches of one family: those of two families have different types.
type Set[F Family] uint64

// Has reports whether every switch in other is in s.
func (s Set[F]) Has(other Set[F]) bool { return s&other == other }

// All lists every switch of a family, each alone, in the order of their names.
func All[F Family]() []Set[F] {
	all := make([]Set[F], 0, len(namesOf[F]()))
	for i := range namesOf[F]() {
		all = append(all, 1<<i)
	}
	return all
}

// String returns "none", "default" for all, or the names, separated by commas.
func (s Set[F]) String() string {
	known := namesOf[F]()
	switch s {
	case 0:
		return "none"
	case every[F]():
		return "default"
	}
	on := make([]string, 0, bits.OnesCount64(uint64(s)))
	for i, name := range known {
		if s&(1<<i) != 0 {
			on = append(on, name)
		}
	}
	return strings.Join(on, ",")
}

// Parse reads what String writes; an empty text is the default. An unknown name
// is an error that lists the known ones.
func Parse[F Family](text string) (Set[F], error) {
	switch text {
	case "none":
		return 0, nil
	case "default", "":
		return every[F](), nil
	}
	known := namesOf[F]()
	var set Set[F]
	for name := range strings.SplitSeq(text, ",") {
		i := slices.Index(known, strings.TrimSpace(name))
		if i < 0 {
			return 0, fmt.Errorf("unknown divergence %q: known are none, default, %s", name, strings.Join(known, ", "))
		}
		set |= 1 << i
	}
	return set, nil
}

func namesOf[F Family]() Names {
	var family F
	return family.Names()
}

func every[F Family]() Set[F] { return 1<<len(namesOf[F]()) - 1 }
