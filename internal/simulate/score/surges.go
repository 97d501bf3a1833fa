package score

// A surge is an increase of the need to at least surgeFactor times, and surgePods more
// than, the least of the last surgeWindow seconds. The next one begins after that
// time at the earliest. So the load alone says what the surges are.
const (
	surgeFactor = 1.5
	surgePods   = 2
	surgeWindow = 60
)

// surges finds surges and when they were recovered from.
type surges struct {
	// least are the candidates for the window's least, in order of time; each is less
	// than the ones behind it.
	least []need
	// next is the earliest second of the next surge.
	next  int
	count int
	// open are when those began that are not over.
	open      []int
	recovered []float64
}

type need struct {
	at   int
	pods float64
}

// add adds a second: what is needed, and whether there is enough.
func (s *surges) add(at int, pods float64, enough bool) {
	for len(s.least) > 0 && s.least[0].at < at-surgeWindow {
		s.least = s.least[1:]
	}
	if len(s.least) > 0 && at >= s.next {
		if before := s.least[0].pods; pods >= surgeFactor*before && pods >= before+surgePods {
			s.count++
			s.open = append(s.open, at)
			s.next = at + surgeWindow
		}
	}
	for len(s.least) > 0 && s.least[len(s.least)-1].pods >= pods {
		s.least = s.least[:len(s.least)-1]
	}
	s.least = append(s.least, need{at, pods})
	if !enough {
		return
	}
	for _, began := range s.open {
		s.recovered = append(s.recovered, float64(at-began))
	}
	s.open = s.open[:0]
}
