package loadreport

import "time"

// Turns are the changes of the wanted count that go the other way than the change before.
type Turns struct {
	// All is how many there are; MostInHour is how many of them are within an hour, and From when that hour begins.
	All, MostInHour int
	From            time.Time
}

// flapping is how many turns within an hour are no longer the load's: with a stabilization window of five minutes it
// takes three rises and three falls.
const flapping = 6

// IsFlapping reports whether the count flapped.
func (t *Turns) IsFlapping() bool { return t.MostInHour >= flapping }

func turnsOf(changes []Change) (t Turns) {
	var at []time.Time
	for i := 1; i < len(changes); i++ {
		before, c := &changes[i-1], &changes[i]
		if (before.To > before.From) != (c.To > c.From) {
			at = append(at, c.At)
		}
	}
	t.All = len(at)
	first := 0
	for i := range at {
		for at[i].Sub(at[first]) >= time.Hour {
			first++
		}
		if n := i - first + 1; n > t.MostInHour {
			t.MostInHour, t.From = n, at[first]
		}
	}
	return t
}
