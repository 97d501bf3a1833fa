package scrape

import "time"

const (
	// remembered is how many scrapes a tenant's slowPart is an average of, more than end together because they began
	// together.
	remembered = 256
	// forgottenAfter is how long a tenant counts without a scrape that succeeds.
	forgottenAfter = time.Minute
)

// tenant has the targets of a namespace, which must not cost those of another one.
type tenant[T Target] struct {
	name string
	// targets is how many there are, failing how many of them fail.
	targets, failing int
	// retries is how many are being scraped that failed; parked are those that are due while the tenant has its part of
	// the places for retries.
	retries int
	parked  queue[T]

	// slow is how many slow scrapes run.
	slow int
	// slowPart is which part of the last scrapes that succeeded took longer than slowAfter. How long they took says
	// less: one scrape of twenty can make the average long.
	slowPart float64
	// succeeded is when the last one did; zero if none has.
	succeeded time.Time
}

// tenants are those of all targets.
type tenants[T Target] struct {
	byName map[string]*tenant[T]
	// failing is how many have targets that fail.
	failing int
}

// join is the tenant of that name, which has one more target.
func (s *tenants[T]) join(name string) *tenant[T] {
	t := s.byName[name]
	if t == nil {
		t = &tenant[T]{name: name}
		s.byName[name] = t
	}
	t.targets++
	return t
}

// leave forgets the tenant with its last target.
func (s *tenants[T]) leave(t *tenant[T]) {
	if t.targets--; t.targets == 0 {
		delete(s.byName, t.name)
	}
}

// addFailing counts targets that fail, or no longer do.
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

// succeed takes in a scrape that succeeded.
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

// count is how many tenants have lately had scrapes that succeeded, and of how many most of these were slow.
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

// slowest is the tenant with the most slow scrapes that run.
func (s *tenants[T]) slowest() *tenant[T] {
	var slowest *tenant[T]
	for _, t := range s.byName {
		if slowest == nil || t.slow > slowest.slow {
			slowest = t
		}
	}
	return slowest
}
