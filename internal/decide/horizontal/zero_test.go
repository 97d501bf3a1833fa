package horizontal_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/zero"
)

// TestZeroBelowMin: a target that was scaled to zero returns to a min above zero if no metric can be computed.
func TestZeroBelowMin(t *testing.T) {
	for name, tt := range map[string]struct {
		reading metric.Reading
		min     int32
		// isManual is set if another writer scaled it to zero.
		isManual       bool
		upstream, ours int32
	}{
		"failed":                {reading: broken(), min: 2, upstream: 0, ours: 2},
		"computed":              {reading: length(4), min: 2, upstream: 4, ours: 4},
		"computed, below min":   {reading: length(0), min: 2, upstream: 2, ours: 2},
		"awaited":               {reading: metric.Reading{Pending: true}, min: 2},
		"failed, min zero":      {reading: broken()},
		"failed, not by Decide": {reading: broken(), min: 2, isManual: true},
	} {
		t.Run(name, func(t *testing.T) {
			for set, want := range map[divergence.Set]int32{
				divergence.Default: tt.ours, divergence.Default &^ divergence.ZeroBelowMin: tt.upstream,
			} {
				p, o := policy(tt.min, 10), see(0, tt.reading)
				p.Divergences, o.ScaledToZero = set, !tt.isManual
				d, _ := horizontal.Decide(noon, &p, horizontal.State{}, &o)
				if d.Desired != want || d.Rescale != (want > 0) {
					t.Errorf("with %v: %d on %v, want %d", set, d.Desired, d.Branch, want)
				}
			}
		})
	}
}

// TestZeroCondition: once any writer has scaled the target up, ScaledToZero ends, unless the controller scales it to
// zero again.
func TestZeroCondition(t *testing.T) {
	for name, tt := range map[string]struct {
		current int32
		reading metric.Reading
		shown   bool
		error   string
		// ours is the reported condition, if any.
		ours condition.Status
	}{
		"scaled up":                         {2, length(2), true, "", condition.False},
		"scaled up, metrics fail":           {2, broken(), true, "", condition.False},
		"it was not scaled to zero":         {2, length(2), false, "", ""},
		"still at zero":                     {0, length(0), true, "", ""},
		"scaled to zero again":              {1, length(0), true, "", condition.True},
		"to zero again, not written":        {1, length(0), true, "conflict", ""},
		"scaled up further, and unreadable": {2, length(5), true, "conflict", condition.False},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := policy(0, 10), see(tt.current, tt.reading)
			p.DownscaleStabilization, o.ScaledToZero = 0, tt.shown
			s := remembering(past{time.Hour, tt.current})
			d, _ := horizontal.Decide(noon, &p, s, &o)
			var got condition.Status
			for _, c := range statusreport.Of(&d, horizontal.Outcome{At: noon, Error: tt.error}).Conditions {
				if c.Type == statusreport.ScaledToZero {
					got = c.Status
				}
			}
			if got != tt.ours {
				t.Errorf("the condition becomes %q, want %q", got, tt.ours)
			}
		})
	}
}

// TestZeroDoesNotFlap: with any values, errors, gaps and pushes, a target goes to zero at most once in a cooldown
// period, and never in a decision in which a metric failed, had not arrived or did not report whether it is active.
func TestZeroDoesNotFlap(t *testing.T) {
	const cooldown = time.Minute
	all := int64(0)
	rapid.Check(t, func(t *rapid.T) {
		m, p := making(t), policy(0, 10)
		p.DownscaleStabilization = 0
		p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: cooldown}}
		p.Metrics = []source.Spec{queue(), queue()}
		p.Metrics[0].Type, p.Metrics[1].Type = source.ExternalScaler, source.Prometheus
		var s horizontal.State
		now, current, falls := noon, int32(1), int64(0)
		for range 40 {
			now = now.Add(m.duration("later", 30*time.Second))
			o, isKnown := see(current), true
			for range p.Metrics {
				r := length(int32(m.pick("length", 0, 8) / 8))
				if r.Activity = metric.Inactive; m.chance("active", 8) {
					r.Activity = metric.Active
				}
				switch m.pick("outage", 0, 15) {
				case 13:
					r.Activity, isKnown = metric.ActivityUnknown, false
				case 14:
					r.Series, r.Error, isKnown = nil, "down", false
				case 15:
					r.Series, r.Pending, isKnown = nil, true, false
				}
				o.Readings = append(o.Readings, r)
			}
			// Only a scaler's activity counts.
			isKnown = isKnown || o.Readings[0].Activity != metric.ActivityUnknown && len(o.Readings[0].Series) > 0 &&
				len(o.Readings[1].Series) > 0
			var d horizontal.Decision
			d, s = horizontal.Decide(now, &p, s, &o)
			s = horizontal.Settle(s, horizontal.Outcome{At: now})
			if d.Current > 0 && d.Desired == 0 {
				if falls++; !isKnown {
					t.Fatalf("at %v it goes to zero on %+v", now.Sub(noon), o.Readings)
				}
			}
			current = d.Desired
		}
		all += falls
		if most := 1 + int64(now.Sub(noon)/cooldown); falls > most {
			t.Fatalf("it went to zero %d times in %v", falls, now.Sub(noon))
		}
	})
	if all == 0 {
		t.Error("it never went to zero: that proves nothing")
	}
}

// TestNothingDelaysTheFirstReplica: an active metric brings the first replica back at once, with any windows and rates
// of scaleUp, unless that is disabled.
func TestNothingDelaysTheFirstReplica(t *testing.T) {
	for name, tt := range map[string]struct {
		up   behavior.Rules
		want int32
	}{
		"window":   {behavior.Rules{Stabilization: time.Minute, Policies: unlimited().Policies}, 1},
		"rate":     {behavior.Rules{Policies: []behavior.RatePolicy{pods(1, time.Hour)}}, 1},
		"disabled": {behavior.Rules{Select: behavior.SelectDisabled}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := policy(0, 10)
			p.Behavior = rates(tt.up, unlimited())
			p.WorkloadAutoscaler = &horizontal.WorkloadAutoscaler{Zero: zero.Settings{CooldownPeriod: time.Minute}}
			o := see(0, length(0))
			s := horizontal.State{ScaleUps: changes(past{10 * time.Minute, 1})}
			d, s := horizontal.Decide(noon, &p, s, &o)
			if d.Desired != 0 {
				t.Fatalf("%d replicas without activity", d.Desired)
			}
			o = see(0, length(7))
			d, _ = horizontal.Decide(noon.Add(5*time.Second), &p, s, &o)
			if d.Desired != tt.want || d.Rescale != (tt.want > 0) {
				t.Errorf("%d replicas, want %d: %+v", d.Desired, tt.want, d.Limited)
			}
		})
	}
}

// TestLostZeroCondition: the status write after the one that removed the last replica may be lost, also with the
// process that made both. A later decision sets the condition, and the target comes back once the object wants
// replicas. A target that a user has switched off stays off.
func TestLostZeroCondition(t *testing.T) {
	wla := func(m mode.Mode, held *int32) *horizontal.WorkloadAutoscaler {
		return &horizontal.WorkloadAutoscaler{Mode: m, PausedReplicas: held}
	}
	none, two := int32(0), int32(2)
	wrote := horizontal.State{ScaledToZero: true}
	for name, tt := range map[string]struct {
		min   int32
		own   *horizontal.WorkloadAutoscaler
		state horizontal.State
		set   divergence.Set
		want  bool
	}{
		"an HPA that was scaled to zero":     {state: wrote, set: divergence.Default, want: true},
		"as upstream":                        {state: wrote},
		"an HPA, after a restart":            {set: divergence.Default},
		"paused at zero":                     {min: 2, own: wla(mode.Paused, &none), want: true},
		"paused at another count":            {min: 2, own: wla(mode.Paused, &two)},
		"paused where it was":                {min: 2, own: wla(mode.Paused, nil)},
		"active, where zero is ordinary":     {own: wla(mode.Active, nil), want: true},
		"a preview":                          {own: wla(mode.Preview, nil)},
		"active, where it is switched off":   {min: 1, own: wla(mode.Active, nil)},
		"active since it was scaled to zero": {own: wla(mode.Active, nil), state: wrote, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			p, o := policy(tt.min, 10), see(0, length(0))
			p.WorkloadAutoscaler, p.Divergences = tt.own, tt.set
			if tt.own != nil {
				p.Divergences = divergence.Default
			}
			o.ScaledToZero = false
			d, s := horizontal.Decide(noon, &p, tt.state, &o)
			got := false
			for _, c := range statusreport.Of(&d, horizontal.Outcome{At: noon}).Conditions {
				got = got || c.Type == statusreport.ScaledToZero && c.Status == condition.True
			}
			if got != tt.want {
				t.Errorf("ScaledToZero becomes True: %t", got)
			}
			// The object wants more replicas before a status was written.
			p.MinReplicas = 3
			if tt.own != nil {
				p.WorkloadAutoscaler = wla(mode.Active, nil)
			}
			if d, _ = horizontal.Decide(noon.Add(time.Minute), &p, s, &o); d.Rescale != tt.want {
				t.Errorf("then it is scaled: %t, to %d", d.Rescale, d.Desired)
			}
		})
	}
}
