package scrape

import "time"

const (
	// slowPart is a moving average over this many scrapes, more than end together because they began together.
	remembered = 256
	// A tenant counts for this long after its last success.
	forgottenAfter = time.Minute
)

// tenant has the targets of a namespace, which must not slow those of another.
type tenant[T Target] struct {
	name string
	// targets counts the tenant's targets, failing those that fail.
	targets, failing int
	// retries counts the scrapes of failing targets that are under way; parked are failing targets that are due while the
	// tenant uses its share of the slots for retries.
	retries int
	parked  queue[T]

	// slow counts the slow scrapes under way.
	slow int
	// slowPart is the fraction of the last successful scrapes that took longer than slowAfter. An average of durations
	// would be worse: one scrape of twenty can make it long.
	slowPart float64
	// succeeded is the time of the last success; zero before the first.
	succeeded time.Time
}

// tenants holds the tenants of all targets.
type tenants[T Target] struct {
	byName map[string]*tenant[T]
	// failing counts the tenants with failing targets.
	failing int
}

// join returns the tenant of that name, with one more target.
func (s *tenants[T]) join(name string) *tenant[T] {
	t := s.byName[name]
	if t == nil {
		t = &tenant[T]{name: name}
		s.byName[name] = t
	}
	t.targets++
	return t
}

// leave removes a target, and forgets the tenant with its last one.
func (s *tenants[T]) leave(t *tenant[T]) {
	if t.targets--; t.targets == 0 {
		delete(s.byName, t.name)
	}
}

func (s *tenants[T]) addFailing(t *tenant[T], n int) {
	was := t.failing
	t.failing += n
	switch {
	case was == 0 && t.failing > 0:
		s.failing++
	case was > 0 && t.failing == 0:
		s.failing--
	}
}

func (t *tenant[T]) succeed(now time.Time, isSlow bool) {
	part := 0.0
	if isSlow {
		part = 1
	}
	if t.succeeded.IsZero() {
		t.slowPart = part
	}
	t.slowPart += (part - t.slowPart) / remembered
	t.succeeded = now
}

// count returns the number of tenants with a recent successful scrape, and of those whose scrapes were mostly slow.
func (s *tenants[T]) count(now time.Time) (all, slow int) {
	for _, t := range s.byName {
		if t.succeeded.IsZero() || now.Sub(t.succeeded) > forgottenAfter {
			continue
		}
		all++
		if t.slowPart >= 0.5 {
			slow++
		}
	}
	return all, slow
}

// slowest returns the tenant with the most slow scrapes under way.
func (s *tenants[T]) slowest() *tenant[T] {
	var slowest *tenant[T]
	for _, t := range s.byName {
		if slowest == nil || t.slow > slowest.slow {
			slowest = t
		}
	}
	return slowest
}
