package estimate

import (
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

var (
	began   = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	nothing [vertical.Resources]bool
)

func policy(on divergence.Set) *Policy {
	p := DefaultPolicy()
	p.Usage.Divergences = on
	return &p
}

// steady returns a container with constant usage for that long, measured every minute.
func steady(p *Policy, d time.Duration, cpuMilli, memoryBytes vertical.Amount) *usage.Container {
	var c usage.Container
	for after := time.Duration(0); after <= d; after += time.Minute {
		c.AddCPU(&p.Usage, usage.Sample{Pod: "a", At: began.Add(after), Amount: cpuMilli}, began)
		c.AddMemory(&p.Usage, usage.Sample{Pod: "a", At: began.Add(after), Amount: memoryBytes}, began)
	}
	return &c
}

// The guide: the bounds are wide while little is known. After five minutes the
// lower is at 60 % of itself, after twelve hours the upper at 300 %.
func TestConfidence(t *testing.T) {
	for _, c := range []struct {
		history      time.Duration
		lower, upper float64
	}{
		{5 * time.Minute, 0.6, 289}, {30 * time.Minute, 0.91, 49}, {time.Hour, 0.95, 25}, {12 * time.Hour, 0.996, 3},
		{24 * time.Hour, 0.998, 2}, {7 * 24 * time.Hour, 0.9997, 1.14},
	} {
		p := policy(divergence.None)
		rec, trace := For(p, 1).Container("web", steady(p, c.history, 2000, 2<<30), nothing)
		for r := range vertical.Resource(vertical.Resources) {
			lower, target, upper := trace.Estimates[r][Lower], trace.Estimates[r][Target], trace.Estimates[r][Upper]
			if math.Abs(lower.Factor-c.lower) > 0.01 || math.Abs(upper.Factor/c.upper-1) > 0.01 {
				t.Errorf("after %s %s is bound by %.4f and %.4f, want %v and %v", c.history, r, lower.Factor, upper.Factor, c.lower,
					c.upper)
			}
			if got, _ := rec.Lower.Get(r); math.Abs(float64(got)/float64(target.WithMargin)-c.lower) > 0.01 {
				t.Errorf("after %s the lower bound of %s is %d of %d", c.history, r, got, target.WithMargin)
			}
			if got, _ := rec.Upper.Get(r); math.Abs(float64(got)/float64(target.WithMargin)/c.upper-1) > 0.01 {
				t.Errorf("after %s the upper bound of %s is %d of %d", c.history, r, got, target.WithMargin)
			}
		}
	}
}

func TestWithoutSamples(t *testing.T) {
	for on, want := range map[divergence.Set][2]vertical.Recommendation{
		divergence.None: {
			{Lower: vertical.Of(25, 250<<20), Target: vertical.Of(25, 250<<20), Upper: vertical.Of(25, 250<<20)},
			{Lower: vertical.Of(25, 250<<20), Target: vertical.Of(2341, 2442),
				Upper: vertical.Of(vertical.MaxAmount, vertical.MaxAmount)},
		},
		divergence.FiniteUpper: {
			{Lower: vertical.Of(25, 250<<20), Target: vertical.Of(25, 250<<20), Upper: vertical.Of(25, 250<<20)},
			{Lower: vertical.Of(25, 250<<20), Target: vertical.Of(2341, 2442), Upper: vertical.Of(1021109, 1021109408904)},
		},
	} {
		p := policy(on)
		written := func(a vertical.Amounts) vertical.Amounts { return a.In(vertical.Memory, vertical.BinarySI) }
		for i, c := range []*usage.Container{{}, steady(p, 0, 2000, 2<<30)} {
			rec, _ := For(p, 1).Container("web", c, nothing)
			if rec.Lower != written(want[i].Lower) || rec.Upper != written(want[i].Upper) ||
				i == 0 && rec.Target != written(want[i].Target) {
				t.Errorf("with %s and %d samples: %+v", on, i, rec)
			}
		}
	}
}

// Without samples the minimum is not recommended: it would lower larger requests, and the containers would throttle or
// run out of memory. This applies to each resource alone: an OOM is no sample of CPU.
func TestFirstSample(t *testing.T) {
	p := policy(divergence.FirstSample)
	p.Containers = []vertical.ContainerPolicy{{Container: "web", Controlled: vertical.Controls(),
		MinAllowed: vertical.Of(500, 1<<30)}}
	unknown, killed, used := &usage.Container{}, &usage.Container{}, steady(p, 0, 2000, 2<<30)
	killed.RecordOOM(&p.Usage, usage.OOM{Pod: "a", At: began, Request: 1 << 30}, began)
	for why, c := range map[string]struct {
		container  *usage.Container
		unmeasured [vertical.Resources]bool
	}{
		"nothing is known": {unknown, [vertical.Resources]bool{true, true}},
		"an OOM":           {killed, [vertical.Resources]bool{vertical.CPU: true}},
		"a sample of each": {used, nothing},
	} {
		rec, trace := For(p, 1).Container("web", c.container, nothing)
		if trace.Unmeasured != c.unmeasured {
			t.Errorf("%s: unmeasured %v", why, trace.Unmeasured)
		}
		for r := range vertical.Resource(vertical.Resources) {
			for _, amounts := range []vertical.Amounts{rec.Lower, rec.Target, rec.Upper, rec.Uncapped} {
				if _, has := amounts.Get(r); has == c.unmeasured[r] {
					t.Errorf("%s: %s is recommended: %t", why, r, has)
				}
			}
		}
	}
	if _, trace := For(policy(divergence.None), 1).Container("web", unknown, nothing); trace.Unmeasured != nothing {
		t.Error("upstream recommends the floor")
	}
}

// The trace has each step of the estimate.
func TestTrace(t *testing.T) {
	p := policy(divergence.Default)
	p.Round = [vertical.Resources]int{50, 1 << 20}
	p.Containers = []vertical.ContainerPolicy{{Container: "web", Controlled: vertical.Controls(),
		MaxAllowed: vertical.Of(0, 2<<30)}}
	_, trace := For(p, 2).Container("web", steady(p, 24*time.Hour, 100, 2<<30), nothing)
	if trace.Floor != [vertical.Resources]vertical.Amount{12, 125 << 20} {
		t.Errorf("the share of the floor is %v", trace.Floor)
	}
	cpu := trace.Estimates[vertical.CPU][Target]
	if want := (Estimate{
		Percentile: 0.9, Used: 110, WithMargin: 126, Factor: 1, Widened: 126, Floored: 126, Rounded: 150, Capped: 150,
	}); cpu != want {
		t.Errorf("CPU goes by %+v, want %+v", cpu, want)
	}
	memory := trace.Estimates[vertical.Memory][Target]
	if memory.Capped != 2<<30 || memory.Rounded%(1<<20) != 0 || memory.Rounded < memory.Floored ||
		memory.Rounded <= memory.Capped {
		t.Errorf("memory goes by %+v", memory)
	}
	if upper := trace.Estimates[vertical.Memory][Upper]; upper.Factor < 1.99 || upper.Factor > 2.01 ||
		upper.Capped != 2<<30 {
		t.Errorf("the upper bound of memory goes by %+v", upper)
	}
}

func TestWhatIsLeftAlone(t *testing.T) {
	p := policy(divergence.Default)
	p.Containers = []vertical.ContainerPolicy{{Container: "web", Controlled: [vertical.Resources]bool{true, false}}}
	c := steady(p, time.Hour, 100, 1<<30)
	rec, trace := For(p, 1).Container("web", c, nothing)
	if _, has := rec.Target.Get(vertical.Memory); has || trace.Controlled != [vertical.Resources]bool{true, false} {
		t.Errorf("memory is not controlled, and recommended: %+v", rec)
	}
	rec, trace = For(p, 1).Container("web", c, [vertical.Resources]bool{true, true})
	if !rec.Target.IsEmpty() || !rec.Upper.IsEmpty() || !rec.Uncapped.IsEmpty() ||
		trace.Skipped != [vertical.Resources]bool{true, false} {
		t.Errorf("a horizontal autoscaler has the CPU, and it is recommended: %+v", rec)
	}
}

func TestRounding(t *testing.T) {
	p := policy(divergence.None)
	p.Round = [vertical.Resources]int{0, -5} // upstream does not round these
	if got := p.round(vertical.CPU, 101); got != 101 {
		t.Errorf("rounded to nothing: %d", got)
	}
	p.HumanizeMemory = true
	for bytes, want := range map[vertical.Amount]vertical.Amount{
		0: 0, 1023: 1023, 1024: 1024, 1536: 1536, 262144000: 262144000,
		1289749: 1289749,                     // 1.23Mi is 1289748.48
		1 << 40: 1 << 40, 1<<30 - 1: 1 << 30, // 1024.00Mi
		vertical.MaxAmount: 100000582546228, // 90.95Ti
	} {
		if got := p.round(vertical.Memory, bytes); got != want {
			t.Errorf("%d bytes are humanized to %d, want %d", bytes, got, want)
		}
	}
	for amount, want := range map[vertical.Amount]vertical.Amount{0: 0, 1: 1000, 1000: 1000, 1001: 2000} {
		estimates := [boundCount]Estimate{Target: {Rounded: amount}}
		roundToWhole(&estimates)
		if got := estimates[Target].Rounded; got != want {
			t.Errorf("%dm are %dm in whole CPUs, want %dm", amount, got, want)
		}
	}
}

// With every divergence on and any usage, lower <= target <= upper, and each is finite.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := policy(divergence.Default)
		amount := func(name string, most int64) vertical.Amount {
			return vertical.Amount(rapid.Int64Range(0, most).Draw(r, name))
		}
		p.Round = [vertical.Resources]int{rapid.IntRange(0, 100).Draw(r, "round CPU"),
			rapid.IntRange(0, 1<<21).Draw(r, "round memory")}
		p.HumanizeMemory = rapid.Bool().Draw(r, "humanize")
		p.Containers = []vertical.ContainerPolicy{{
			Container: vertical.AllContainers, Controlled: vertical.Controls(),
			MinAllowed: vertical.Of(amount("min CPU", 2000), amount("min memory", 1<<32)),
			MaxAllowed: vertical.Of(amount("max CPU", 4000), amount("max memory", 1<<34)),
		}}
		var c usage.Container
		at := began
		for i := range rapid.IntRange(0, 60).Draw(r, "samples") {
			at = at.Add(time.Duration(rapid.IntRange(1, 40_000).Draw(r, "seconds")) * time.Second)
			s := usage.Sample{Pod: fmt.Sprint(i % 3), At: at, Amount: amount("CPU", 1_000_000)}
			c.AddCPU(&p.Usage, s, at)
			s.Amount = amount("memory", 1e12)
			c.AddMemory(&p.Usage, s, at)
		}
		rec, trace := For(p, rapid.IntRange(1, 5).Draw(r, "containers")).Container("web", &c, nothing)
		for resource := range vertical.Resource(vertical.Resources) {
			lower, _ := rec.Lower.Get(resource)
			target, _ := rec.Target.Get(resource)
			upper, _ := rec.Upper.Get(resource)
			if lower > target || target > upper {
				r.Fatalf("%s: %d, %d, %d", resource, lower, target, upper)
			}
			for b, made := range trace.Estimates[resource] {
				if (made.Capped != made.Rounded) != (made.CappedBy != NotCapped) {
					r.Fatalf("%s of %s: %d is %d by %q", Bound(b), resource, made.Rounded, made.Capped, made.CappedBy)
				}
			}
			if trace.Estimates[resource][Upper].Widened > 1.2e12 {
				r.Fatalf("%s has the upper bound %d", resource, upper)
			}
		}
	})
}
