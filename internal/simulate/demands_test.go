package simulate_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// demand is what must be true: in each run or, if median is set, over all of them.
type demand struct {
	text   string
	check  func(o *outcome) string
	median func(o []outcome) string
}

// sentence is a kind of demand. Its text matches the expression.
type sentence struct {
	words *regexp.Regexp
	make  func(words []string) (demand, error)
}

var sentences = []sentence{
	{of(`steady from TIME (on|to TIME)`), func(w []string) (demand, error) {
		from, to, err := span(w[1], w[2], w[3])
		return each(func(o *outcome) string {
			for _, c := range o.Changes {
				if c.At >= from && c.At <= to {
					return fmt.Sprintf("at %v it went from %d to %d", c.At, c.From, c.To)
				}
			}
			return ""
		}), err
	}},
	{of(`never short( longer than TIME)?`), func(w []string) (demand, error) {
		limit, err := time.ParseDuration("0" + strings.TrimPrefix(w[2], "0"))
		if w[1] == "" {
			limit, err = 0, nil
		}
		return each(func(o *outcome) string {
			if got := o.Score.LongestShortSeconds; got > limit.Seconds() {
				return fmt.Sprintf("it was for %.0f s", got)
			}
			return ""
		}), err
	}},
	{of(`(no more than|at least) COUNT actions?`), func(w []string) (demand, error) {
		return count(w[1], w[2], func(o *outcome) float64 { return float64(o.Score.Actions) })
	}},
	{of(`turned round (no more than|at least) COUNT times?`), func(w []string) (demand, error) {
		return count(w[1], w[2], func(o *outcome) float64 { return float64(o.Score.Reverses) })
	}},
	{of(`(at most|at least) COUNT (ready|wanted) from TIME (on|to TIME)`), func(w []string) (demand, error) {
		limit, err := strconv.Atoi(w[2])
		if err != nil {
			return demand{}, err
		}
		from, to, err := span(w[4], w[5], w[6])
		return each(func(o *outcome) string {
			for i := range o.moments {
				m := &o.moments[i]
				got := m.Ready
				if w[3] == "wanted" {
					got = m.Wanted
				}
				if m.At >= from && m.At <= to && (w[1] == "at most" && got > limit || w[1] == "at least" && got < limit) {
					return fmt.Sprintf("%d at %v", got, m.At)
				}
			}
			return ""
		}), err
	}},
	{of(`less than NUMBER % lost`), func(w []string) (demand, error) {
		limit, err := strconv.ParseFloat(w[1], 64)
		return each(func(o *outcome) string {
			if got := o.Score.LostPercent; got >= limit {
				return fmt.Sprintf("%.3f %%", got)
			}
			return ""
		}), err
	}},
	{of(`recovered within TIME`), func(w []string) (demand, error) {
		limit, err := time.ParseDuration(w[1])
		return each(func(o *outcome) string {
			s := &o.Score
			if s.Surges == 0 || s.Unrecovered > 0 || s.WorstRecoverySeconds > limit.Seconds() {
				return fmt.Sprintf("%d surges, %d never, the worst after %.0f s", s.Surges, s.Unrecovered, s.WorstRecoverySeconds)
			}
			return ""
		}), err
	}},
	{of(`(in the median, )?change COUNT comes at TIME, give or take TIME`), changeComes},
}

func changeComes(w []string) (demand, error) {
	number, err := strconv.Atoi(w[2])
	if err != nil || number < 1 {
		return demand{}, fmt.Errorf("change %q", w[2])
	}
	at, err := time.ParseDuration(w[3])
	if err != nil {
		return demand{}, err
	}
	within, err := time.ParseDuration(w[4])
	if err != nil {
		return demand{}, err
	}
	judge := func(got time.Duration) string {
		if (got - at).Abs() > within {
			return fmt.Sprintf("it comes at %v", got)
		}
		return ""
	}
	if w[1] == "" {
		return each(func(o *outcome) string {
			if number > len(o.Changes) {
				return fmt.Sprintf("there are only %d", len(o.Changes))
			}
			return judge(o.Changes[number-1].At)
		}), nil
	}
	return demand{median: func(all []outcome) string {
		var times []time.Duration
		for i := range all {
			if number > len(all[i].Changes) {
				return fmt.Sprintf("with seed %d there are only %d", i+1, len(all[i].Changes))
			}
			times = append(times, all[i].Changes[number-1].At)
		}
		return judge(medianOf(times))
	}}, nil
}

// of makes an expression of a sentence: TIME, COUNT and NUMBER stand for what they say.
func of(text string) *regexp.Regexp {
	text = strings.NewReplacer("TIME", `([0-9a-z.]+)`, "COUNT", `([0-9]+)`, "NUMBER", `([0-9.]+)`).Replace(text)
	return regexp.MustCompile("^" + text + "$")
}

func each(check func(o *outcome) string) demand { return demand{check: check} }

// span is "from A on" or "from A to B".
func span(from, kind, to string) (a, b time.Duration, err error) {
	if a, err = time.ParseDuration(from); err != nil || kind == "on" {
		return a, 1 << 62, err
	}
	b, err = time.ParseDuration(to)
	return a, b, err
}

func count(which, limitText string, of func(o *outcome) float64) (demand, error) {
	limit, err := strconv.ParseFloat(limitText, 64)
	return each(func(o *outcome) string {
		if got := of(o); which == "at least" && got < limit || which != "at least" && got > limit {
			return fmt.Sprintf("it is %v", got)
		}
		return ""
	}), err
}

func parseDemand(text string) (demand, error) {
	for _, s := range sentences {
		words := s.words.FindStringSubmatch(text)
		if words == nil {
			continue
		}
		d, err := s.make(words)
		d.text = text
		return d, err
	}
	return demand{}, fmt.Errorf("%q is no demand that is known; testdata/README.md lists them", text)
}
