package simulate

import "time"

// seriesPoints are how many points a series has at most.
const seriesPoints = 720

// Series are the moments of a run, thinned out: of several in a row, the mean load, the
// largest need, the count that was wanted and the limits at last, the fewest ready pods, the mean
// utilization and the largest latency.
type Series struct {
	// Step is how long each point is.
	Step   time.Duration
	Points []Moment

	each, n int
	now     Moment
}

func newSeries(lasts time.Duration) Series {
	each := max(1, (int(lasts/time.Second)+seriesPoints-1)/seriesPoints)
	return Series{each: each, Step: time.Duration(each) * time.Second}
}

func (s *Series) add(m *Moment) {
	if s.n == 0 {
		s.now = *m
	} else {
		s.now.Load += m.Load
		s.now.Utilization += m.Utilization
		s.now.Need, s.now.Ready, s.now.Paid = max(s.now.Need, m.Need), min(s.now.Ready, m.Ready), max(s.now.Paid, m.Paid)
		s.now.Latency, s.now.IsShort = max(s.now.Latency, m.Latency), s.now.IsShort || m.IsShort
	}
	s.now.At, s.now.Wanted, s.now.Least, s.now.Most = m.At, m.Wanted, m.Least, m.Most
	s.n++
	if s.n == s.each {
		s.finish()
	}
}

func (s *Series) finish() {
	if s.n == 0 {
		return
	}
	s.now.Load /= float64(s.n)
	s.now.Utilization /= float64(s.n)
	s.Points = append(s.Points, s.now)
	s.n = 0
}
