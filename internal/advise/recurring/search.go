package recurring

import (
	"math"
	"slices"
	"time"
)

const (
	// leastFitted and leastHeldOut are how often a schedule must have started on the days that it is fitted to, and on
	// the held-out ones. Fewer are chance.
	leastFitted, leastHeldOut = 3, 2
	// leastShare is the part of the starts that must help, leastShareOfHours the same of schedules that start several
	// times a day: of so many starts fewer are no chance, and what they cost decides.
	leastShare, leastShareOfHours = 0.6, 0.4
	// leastHelp is how many pod-minutes a start must avoid to have helped.
	leastHelp = 0.5
	// leastAvoided is how many pod-minutes a day a schedule must avoid, leastPart the same as a part of what lacks. A
	// pod-minute a day is one pod that is late by a minute: at the price, it is worth one more pod for ten minutes of a
	// day, which does not justify a schedule to maintain. If 95 % of the lack stays, the difference is invisible.
	leastAvoided, leastPart = 1, 0.05
	// price is how many pod-minutes one that lacked is worth, and margin how much more the help must be worth than it
	// costs: as for forecasts.
	price, margin = 10, 1.5
	// timesEven is how many times as much of what lacks a schedule must avoid as it has of the time: where pods lack all
	// day long, another target helps, and one schedule of many by chance.
	timesEven = 5
	// timesChance is how many times as much must be avoided as by the same schedule at other times of the day, one
	// every othersEvery minutes: a jump of every hour is not hit by most of them.
	timesChance, othersEvery = 3, 37
	// lead is how long before the jump the pods shall be ready.
	lead = 2 * time.Minute
	// width is how many minutes the same jump may lie apart on different days.
	width = 20
	// calm is for how many minutes nothing lacks where the replica count has caught up, and slowest the longest that is
	// waited for it.
	calm, slowest = 5, 120
)

// search finds schedules one after the other.
type search struct {
	playback          *playback
	config            *Config
	start             time.Time
	fit, heldOut, all []day
	// isTried has the minutes of the day in which no further jump is searched for.
	isTried []bool
}

// candidate is a schedule that was fitted: it starts at minute from of the day of the jump, or of the day before where
// that is negative.
type candidate struct {
	days Weekdays
	// every is after how many minutes it starts again on the same day: minutesOfDay if once a day.
	every         int
	from, minutes int
	replicas      int32
	worth         float64
	// firstTried and behindTried bound the minutes of the jump.
	firstTried, behindTried int
}

func (c *candidate) skip(isTried []bool) {
	for i := c.firstTried; i < c.behindTried; i++ {
		for other := i % c.every; other < minutesOfDay; other += c.every {
			isTried[other] = true
		}
	}
}

// best is the schedule that is worth most on the days that it is fitted to.
func (s *search) best() (candidate, bool) {
	lacking := make([][]float64, len(s.fit))
	for i := range s.fit {
		lacking[i] = s.lackingOn(&s.fit[i])
	}
	best := candidate{}
	for _, every := range [...]int{minutesOfDay, minutesOfHour, 2 * minutesOfHour} {
		for _, days := range patterns() {
			if c, ok := s.fitted(days, every, s.rows(days, every, lacking)); ok && c.worth > best.worth {
				best = c
			}
		}
	}
	return best, best.worth > 0
}

// stepAt is the step in which a minute of a day begins.
func (s *search) stepAt(d *day, minute int) int {
	return int(d.at(minute, s.config.Location).Sub(s.start) / step)
}

// row is a day, or a part of one in which a jump may come. It begins at a minute of the day. What lacks in it goes on
// into the next part, for jumps at the end of one.
type row struct {
	day     *day
	first   int
	lacking []float64
}

// rows are the parts of days, every so many minutes.
func (s *search) rows(days Weekdays, every int, lacking [][]float64) (rows []row) {
	length := every
	if every < minutesOfDay {
		length += width
	}
	for i := range s.fit {
		for first := 0; first < minutesOfDay && days.Has(s.fit[i].weekday); first += every {
			rows = append(rows, row{&s.fit[i], first, lacking[i][first : first+length]})
		}
	}
	return rows
}

// lackingOn is what lacked in each minute of a day, in pod-minutes, but for the minutes that were tried, and nothing in
// the next ones.
func (s *search) lackingOn(d *day) []float64 {
	lacking := make([]float64, minutesOfDay+width)
	for minute := range minutesOfDay {
		if !s.isTried[minute] {
			lacking[minute] = s.lackingFrom(s.stepAt(d, minute))
		}
	}
	return lacking
}

// lackingFrom is what lacked in the minute from a step on.
func (s *search) lackingFrom(first int) float64 {
	sum := 0.0
	for i := max(0, first); i < min(first+stepsPerMinute, len(s.playback.lacking)); i++ {
		sum += float64(s.playback.lacking[i]) * minutesPerStep
	}
	return sum
}

// fitted is the best schedule for the jump that lacks most in these parts of days.
func (s *search) fitted(days Weekdays, every int, rows []row) (candidate, bool) {
	if len(rows) < leastFitted {
		return candidate{}, false
	}
	first, ok := window(rows, shareOf(every))
	if !ok {
		return candidate{}, false
	}
	var onsets, ends, needs []float64
	for i := range rows {
		r, onset := &rows[i], first
		for onset < first+width && r.lacking[onset] == 0 {
			onset++
		}
		if onset == first+width {
			continue
		}
		end, need := s.follow(r.day, r.first+onset)
		onsets, ends, needs = append(onsets, float64(onset)), append(ends, float64(end-r.first)), append(needs, need)
	}
	from := int(quantile(onsets, 0.1)) - int((s.config.StartUp+lead+time.Minute-1)/time.Minute)
	return s.sized(candidate{
		days: days, every: every, from: from, minutes: int(quantile(ends, 0.9)) - from,
		firstTried: first, behindTried: first + width,
	}, needs)
}

// shareOf is the part of the starts that must help.
func shareOf(every int) float64 {
	if every < minutesOfDay {
		return leastShareOfHours
	}
	return leastShare
}

// window is the part of the rows, width minutes long, in which most lacks of what lacks in enough of them.
func window(rows []row, share float64) (best int, found bool) {
	most := 0.0
	for first := range len(rows[0].lacking) - width + 1 {
		total, enough := 0.0, 0
		for i := range rows {
			sum := 0.0
			for _, pods := range rows[i].lacking[first : first+width] {
				sum += pods
			}
			if total += sum; sum >= leastHelp {
				enough++
			}
		}
		// Of windows with the same, the last begins with the jump.
		const same = 1 - 1e-9
		if enough >= leastFitted && float64(enough) >= share*float64(len(rows)) && total >= most*same {
			best, most, found = first, total, true
		}
	}
	return best, found
}

// follow is when the replica count has caught up with a jump, as a minute of its day, and the highest load until then.
func (s *search) follow(d *day, onset int) (end int, need float64) {
	first, last := s.stepAt(d, onset), onset
	for minute := onset; minute < onset+slowest && minute <= last+calm; minute++ {
		i := first + (minute-onset)*stepsPerMinute
		if s.lackingFrom(i) > 0 {
			last = minute
		}
		if pods := s.playback.load(i); !math.IsNaN(pods) && last == minute {
			need = max(need, pods)
		}
	}
	return last + 1, need
}

// parts are the parts of the load for which a schedule may have pods, and quantiles the days whose load it may fit.
var (
	parts     = []float64{0.6, 0.7, 0.8, 0.9, 1}
	quantiles = []float64{0.3, 0.5, 0.7, 0.9, 1}
)

// sized gives a candidate the minReplicas that is worth most.
func (s *search) sized(c candidate, needs []float64) (best candidate, found bool) {
	for _, c.replicas = range s.sizes(needs) {
		if s.isBetter(&c, &best) {
			best, found = c, true
		}
	}
	return best, found
}

// sizes are the minReplicas that are tried for jumps to these loads.
func (s *search) sizes(needs []float64) []int32 {
	var sizes []int32
	for _, q := range quantiles {
		for _, part := range parts {
			size := int32(min(math.Ceil(part*quantile(needs, q)), float64(s.config.MaxReplicas)))
			if size > s.config.MinReplicas && !slices.Contains(sizes, size) {
				sizes = append(sizes, size)
			}
		}
	}
	return sizes
}

// isBetter reports whether a candidate is worth more on the days that it is fitted to than the best so far.
func (s *search) isBetter(c, best *candidate) bool {
	if c.minutes >= c.every/2 {
		return false
	}
	r := s.play(c, s.fit, 0)
	c.worth = price*r.gain.Avoided - r.gain.Added
	return c.worth > best.worth && r.starts >= leastFitted && r.isWorthIt(c.every) && !s.isChance(c, s.fit, &r)
}

// result is what a schedule did on some days.
type result struct {
	starts, helped int
	gain           Gain
}

// isWorthIt reports whether it helps as a rule, and for more than it costs.
func (r *result) isWorthIt(every int) bool {
	return float64(r.helped) >= shareOf(every)*float64(r.starts) && price*r.gain.Avoided > margin*r.gain.Added
}

// play plays a schedule back on some days, some minutes later than it is.
func (s *search) play(c *candidate, days []day, later int) result {
	var r result
	for i := range days {
		for _, span := range s.spansOn(c, &days[i], later) {
			if !s.playback.isKnown(span) {
				continue
			}
			g := s.playback.gain(span, c.replicas)
			r.starts++
			if g.Avoided >= leastHelp {
				r.helped++
			}
			r.gain.Avoided += g.Avoided
			r.gain.Added += g.Added
		}
	}
	return r
}

// spansOn are when a schedule is in force on a day, some minutes later than it is.
func (s *search) spansOn(c *candidate, d *day, later int) []span {
	if !c.days.Has(d.weekday) {
		return nil
	}
	var spans []span
	for from := c.first(); from < c.first()+minutesOfDay; from += c.every {
		start := s.stepAt(d, from+later)
		spans = append(spans, span{start: start, end: start + c.minutes*stepsPerMinute})
	}
	return spans
}

// first is the minute of the first start on a day; negative if that is on the day before.
func (c *candidate) first() int {
	if c.every == minutesOfDay {
		return c.from
	}
	return (c.from + c.every) % c.every
}

// isChance reports whether the same schedule does nearly as much at other times of the day.
func (s *search) isChance(c *candidate, days []day, own *result) bool {
	var avoided, starts float64
	for later := othersEvery; later < minutesOfDay; later += othersEvery {
		apart := min(later%c.every, c.every-later%c.every)
		if apart < c.minutes || c.every == minutesOfDay && apart < c.minutes+width {
			continue
		}
		r := s.play(c, days, later)
		avoided, starts = avoided+r.gain.Avoided, starts+float64(r.starts)
	}
	return starts > 0 && own.gain.Avoided/float64(own.starts) < timesChance*avoided/starts
}

// judge plays a candidate back on the held-out days, and reports whether it helps there.
func (s *search) judge(c *candidate) (Proposal, bool) {
	r := s.play(c, s.heldOut, 0)
	if r.starts < leastHeldOut || !r.isWorthIt(c.every) || s.isChance(c, s.heldOut, &r) {
		return Proposal{}, false
	}
	p := Proposal{
		Days: c.days, Hour: c.first() / minutesOfHour, Minute: (c.first() + minutesOfDay) % minutesOfHour,
		Duration:    time.Duration(c.minutes) * time.Minute,
		MinReplicas: c.replicas, FittedDays: len(s.fit), HeldOutDays: len(s.heldOut), Starts: r.starts, Helped: r.helped,
		PerDay: r.gain,
	}
	switch {
	case c.every < minutesOfDay:
		p.EveryHours = c.every / minutesOfHour
	case c.from < 0:
		p.Days, p.Hour = c.days.before(), (c.from+minutesOfDay)/minutesOfHour
	}
	for i := max(0, s.stepAt(&s.heldOut[0], 0)); i < len(s.playback.lacking); i++ {
		p.PerDay.Lacking += float64(s.playback.lacking[i]) * minutesPerStep
	}
	days := float64(len(s.heldOut))
	p.PerDay.Lacking, p.PerDay.Avoided, p.PerDay.Added = p.PerDay.Lacking/days, p.PerDay.Avoided/days, p.PerDay.Added/days
	// The pods start up in a part of the time.
	inForce := (p.Duration - s.config.StartUp).Hours() / 24 * float64(r.starts) / days
	least := max(leastAvoided, p.PerDay.Lacking*max(leastPart, timesEven*inForce))
	return p, p.PerDay.Avoided >= least
}

// apply adds a schedule to the playback, so that the next one is judged beside it.
func (s *search) apply(c *candidate) {
	for i := range s.all {
		for _, span := range s.spansOn(c, &s.all[i], 0) {
			s.playback.raise(span, c.replicas)
		}
	}
	s.playback.compare()
}

func quantile(values []float64, part float64) float64 {
	slices.Sort(values)
	return values[int(math.Round(part*float64(len(values)-1)))]
}
