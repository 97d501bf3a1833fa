package averaging

import (
	"testing"
	"time"
)

// sampled is when a pod was sampled last, in seconds before now, for how long it was ready then, and since when there is
// the sample before.
type sampled struct{ ago, readyFor, interval time.Duration }

func TestCommonEnd(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	old := func(ago, interval time.Duration) sampled { return sampled{ago, time.Hour, interval} }
	many := func(n int, pod sampled) (all []sampled) {
		for range n {
			all = append(all, pod)
		}
		return all
	}
	const s = time.Second
	for name, c := range map[string]struct {
		pods []sampled
		// ago is the common end; less than 0 if there is none.
		ago time.Duration
	}{
		"no pods":                               {nil, -1},
		"a single pod":                          {[]sampled{old(9*s, 15*s)}, -1},
		"at about the same time":                {[]sampled{old(900*time.Millisecond, s), old(0, s)}, -1},
		"far apart":                             {[]sampled{old(9*s, 15*s), old(2*s, 11*s)}, 9 * s},
		"one of long ago has an end of its own": {[]sampled{old(50*s, 15*s), old(2*s, 11*s)}, 27 * s},
		"eleven that are all old":               {append(many(10, old(2*s, 11*s)), old(9*s, 15*s)), -1},
		"eleven of which three are new":         {append(many(8, old(9*s, 15*s)), many(3, sampled{0, 7 * s, s})...), 9 * s},
		"one that is too new to count":          {[]sampled{old(9*s, 15*s), {0, 2 * s, s}}, 9 * s},
		"one that is new, of the same time, and intervals that are longer than it is ready": {
			[]sampled{old(0, 15*s), {0, 7 * s, s}}, 0},
		"one that is new, of the same time, and short intervals": {[]sampled{old(0, s), {0, 7 * s, s}}, -1},
		"none that counts": {many(3, sampled{0, 2 * s, s}), -1},
	} {
		t.Run(name, func(t *testing.T) {
			var common CommonEnd
			var joint CommonWindow
			joint.Reset(DefaultShare)
			common.Add(now.Add(-time.Minute), time.Hour, s)
			common.Reset(DefaultShare)
			for _, pod := range c.pods {
				common.Add(now.Add(-pod.ago), pod.readyFor, pod.interval)
				joint.Add(pod.readyFor)
			}
			end, isCommon := common.End(joint.Window())
			if isCommon != (c.ago >= 0) || isCommon && !end.Equal(now.Add(-c.ago)) {
				t.Errorf("%v ago, %v", now.Sub(end), isCommon)
			}
		})
	}
}

func TestSpreadUpTo(t *testing.T) {
	end := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	const s = time.Second
	use := func(ends, span time.Duration, nano int64) Use {
		return Use{NanoCores: nano, End: end.Add(ends), Span: span}
	}
	partOf := func(u Use, rest int64) Use {
		u.UncountedNanoCores = rest
		return u
	}
	for name, c := range map[string]struct {
		use      Use
		readyFor time.Duration
		want     Use
		counts   bool
	}{
		"of a pod that was ready all the time": {use(0, 15*s, 300), time.Hour, use(0, 15*s, 300), true},
		"of one ready all the time, later":     {use(4*s, 15*s, 300), time.Hour, use(4*s, 15*s, 300), true},
		"of a third of the window":             {use(0, 5*s, 300), 9 * s, partOf(use(0, 5*s, 100), 200), true},
		"with an end of its own before":        {use(-s, 5*s, 300), 9 * s, use(-s, 5*s, 300), true},
		"of a pod that has just become ready":  {use(0, 5*s, 300), 2 * s, partOf(use(0, StableWindow, 100), 200), true},
		"of a pod that became ready later":     {use(0, 5*s, 300), -3 * s, partOf(use(0, StableWindow, 100), 200), false},
		"of a young pod, later":                {use(4*s, 3*s, 300), 9 * s, use(0, StableWindow, 300), false},
	} {
		t.Run(name, func(t *testing.T) {
			if counts := c.use.SpreadUpTo(end, c.readyFor); counts != c.counts || c.use != c.want {
				t.Errorf("%+v, %v", c.use, counts)
			}
		})
	}
}
