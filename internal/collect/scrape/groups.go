package scrape

import "time"

const (
	// remembered is how many scrapes a group's slowPart is an average of, more than end together because they began
	// together.
	remembered = 256
	// forgottenAfter is how long a group counts without a scrape that succeeds.
	forgottenAfter = time.Minute
)

// group are targets of which one is not to cost the other's: those of a namespace.
type group struct {
	// slow is how many slow scrapes are under way.
	slow int
	// slowPart is which part of the last scrapes that succeeded took longer than slowAfter. How long they took says
	// less: one scrape of twenty can make the average long.
	slowPart float64
	// succeeded is when the last one did; zero if none has.
	succeeded time.Time
}

// groups are those of all targets, by their names.
type groups map[string]*group

// of is the group of that name, a new one if there is none.
func (g groups) of(now time.Time, name string) *group {
	if one := g[name]; one != nil {
		return one
	}
	for other, one := range g {
		if one.slow == 0 && now.Sub(one.succeeded) > forgottenAfter {
			delete(g, other)
		}
	}
	one := &group{}
	g[name] = one
	return one
}

// succeed takes in a scrape that succeeded.
func (g *group) succeed(now time.Time, isSlow bool) {
	part := 0.0
	if isSlow {
		part = 1
	}
	if g.succeeded.IsZero() {
		g.slowPart = part
	}
	g.slowPart += (part - g.slowPart) / remembered
	g.succeeded = now
}

// count is how many groups have lately had scrapes that succeeded, and of how many most of these were slow.
func (g groups) count(now time.Time) (all, slow int) {
	for _, one := range g {
		if one.succeeded.IsZero() || now.Sub(one.succeeded) > forgottenAfter {
			continue
		}
		all++
		if one.slowPart >= 0.5 {
			slow++
		}
	}
	return all, slow
}

// largest is the group with the most slow scrapes under way.
func (g groups) largest() *group {
	var largest *group
	for _, one := range g {
		if largest == nil || one.slow > largest.slow {
			largest = one
		}
	}
	return largest
}
