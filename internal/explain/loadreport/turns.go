package loadreport

import "time"

// Turns counts the changes of the wanted count in the opposite direction of the last change.
type Turns struct {
	// All is their number; MostInHour is the largest number within an hour, and From the start of that hour.
	All, MostInHour int
	From            time.Time
}

// flapping is the number of turns within an hour that a load alone hardly causes: with a stabilization window of five
// minutes it takes three rises and three falls.
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
