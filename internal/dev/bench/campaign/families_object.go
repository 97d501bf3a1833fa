package campaign

import (
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/utils/ptr"
)

// objectFamilies differ in the autoscaler; mix differs in everything.
var objectFamilies = []family{
	{name: "target", cases: 24, build: targetCase},
	{name: "tolerance", cases: 32, build: toleranceCase},
	{name: "behavior", cases: 40, build: behaviorCase},
	{name: "down0", cases: 24, build: down0Case},
	{name: "mix", cases: 70, build: mixCase},
	{name: "rates", cases: 12, build: ratesCase},
	{name: "upwindow", cases: 16, build: upwindowCase},
	{name: "pulse", cases: 12, build: pulseCase},
}

func targetCase(c *Case, r random, i int) {
	c.TargetPercent = []int32{20, 30, 40, 50, 80, 85, 90, 95}[i%8]
	base, factor := r.scaled(0.8, 8), r.of(1.2, 1.5, 2, 4)
	c.step(base, factor, 400)
	c.note("target %d %%: %.1f pods, times %.1f", c.TargetPercent, base, factor)
}

func toleranceCase(c *Case, r random, i int) {
	c.Tolerance = &Tolerance{Up: []float64{0, 0.01, 0.02, 0.05, 0.2, 0.3}[i%6], Down: r.of(0, 0.02, 0.1, 0.3)}
	base, factor := r.scaled(1, 15), r.of(1, 1.05, 1.2, 1.5, 2)
	c.step(base, factor, 400)
	c.note("tolerance %.2f up, %.2f down: %.1f pods, times %.2f", c.Tolerance.Up, c.Tolerance.Down, base, factor)
}

// The words of behavior.
const (
	podsPolicy    = autoscalingv2.PodsScalingPolicy
	percentPolicy = autoscalingv2.PercentScalingPolicy
	most          = autoscalingv2.MaxChangePolicySelect
	least         = autoscalingv2.MinChangePolicySelect
	disabled      = autoscalingv2.DisabledPolicySelect
)

func rules(
	window int32, choose autoscalingv2.ScalingPolicySelect, policies ...autoscalingv2.HPAScalingPolicy,
) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{
		StabilizationWindowSeconds: &window, SelectPolicy: &choose, Policies: policies,
	}
}

// off permits no change in a direction.
func off(window *int32) *autoscalingv2.HPAScalingRules {
	return &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: window, SelectPolicy: ptr.To(disabled)}
}

func policy(kind autoscalingv2.HPAScalingPolicyType, value, seconds int32) autoscalingv2.HPAScalingPolicy {
	return autoscalingv2.HPAScalingPolicy{Type: kind, Value: value, PeriodSeconds: seconds}
}

// behaviors are the kinds of behavior: rules that are nil are the defaults.
var behaviors = []struct {
	name     string
	up, down *autoscalingv2.HPAScalingRules
}{
	{name: "never down", down: off(nil)},
	{name: "never up", up: off(ptr.To[int32](0))},
	{name: "up by the lesser of 100 % and 2 pods a minute",
		up: rules(0, least, policy(percentPolicy, 100, 60), policy(podsPolicy, 2, 60))},
	{name: "up by a pod a minute", up: rules(0, most, policy(podsPolicy, 1, 60))},
	{name: "down at once", down: rules(0, most, policy(percentPolicy, 100, 15))},
	{name: "up within a window of 60 s", up: rules(60, most, policy(percentPolicy, 100, 15))},
	{name: "down by a pod a minute", down: rules(0, most, policy(podsPolicy, 1, 60))},
	{name: "both ways without bounds",
		up: rules(0, most, policy(percentPolicy, 900, 1)), down: rules(0, most, policy(percentPolicy, 100, 1))},
	{name: "down by the lesser of 10 % and 4 pods a minute, 60 s",
		down: rules(60, least, policy(percentPolicy, 10, 60), policy(podsPolicy, 4, 60))},
	{name: "up by 4 pods in 15 s within 15 s, down by half in 30 s within 30 s",
		up: rules(15, most, policy(podsPolicy, 4, 15)), down: rules(30, most, policy(percentPolicy, 50, 30))},
}

func behaviorCase(c *Case, r random, i int) {
	kind := &behaviors[i%len(behaviors)]
	c.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleUp: kind.up, ScaleDown: kind.down}
	if kind.up == nil {
		c.Behavior.ScaleUp = rules(0, most, policy(percentPolicy, 100, 15), policy(podsPolicy, 4, 15))
	}
	if kind.down == nil {
		c.Behavior.ScaleDown = rules(300, most, policy(percentPolicy, 100, 15))
	}
	base := r.scaled(1, 8)
	switch r.IntN(4) {
	case 0:
		c.step(base, r.of(1.5, 2, 4), 400)
	case 1:
		c.Load = anything(r, 1500, 40)
	case 2:
		c.Load = periodic(1500, base, 2, r.of(30, 60, 90, 200), 0.5)
	default:
		c.Load = noise{base, 0.97, 0.05, 0.1}.load(r, 1500)
	}
	c.note("%s: %.1f pods", kind.name, base)
}

func down0Case(c *Case, r random, i int) {
	window := []int32{0, 0, 0, 5, 10, 15, 20, 30}[i%8]
	c.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: &window},
	}
	base := r.scaled(3, 45)
	switch r.IntN(4) {
	case 0:
		c.Load = join(flat(150, base), flat(900, base*r.between(0.4, 0.9)))
	case 1:
		to, seconds := base*r.between(0.3, 0.8), int(r.scaled(30, 400))
		c.Load = join(flat(150, base), ramp(seconds, base, to), flat(500, to))
	case 2:
		period, amplitude := r.scaled(120, 900), r.between(0.1, 0.5)
		c.Load = sine(1500, base, amplitude, period)
	default:
		c.Load = noise{base, 0.98, 0.03, 0.1}.load(r, 1500)
	}
	c.note("a window of %d s for scaling down: %.1f pods", window, base)
}

func mixCase(c *Case, r random, _ int) {
	c.TargetPercent = int32(r.of(30, 50, 60, 70, 80, 90))
	c.Min = int32(r.of(1, 2, 3))
	c.RequestMilli = r.of(50, 100, 250, 500, 1000, 4000)
	c.StartAfter, c.ReadyAfter = r.seconds(1, 2, 5, 10), r.seconds(1, 5, 10, 20, 45, 90)
	c.Burstiness = r.of(0.2, 1, 2, 5)
	if r.IntN(3) == 0 {
		c.Startup, c.StartupCPUMilli = r.seconds(10, 30, 60), r.of(0.5, 1, 1.5)*c.RequestMilli
	}
	if r.IntN(4) == 0 {
		c.Imbalance, c.Noise = 0.5, 0.3
	}
	if r.IntN(4) == 0 {
		c.Tolerance = &Tolerance{Up: r.of(0.02, 0.05, 0.2), Down: r.of(0.02, 0.1, 0.2)}
	}
	c.Load = anything(r, 1800, 40)
	c.note("target %d %%, %.0fm, ready after %v + %v, start %.0fm for %v", c.TargetPercent, c.RequestMilli, c.StartAfter,
		c.ReadyAfter, c.StartupCPUMilli, c.Startup.Round(time.Second))
}

// ratesCase has a load that falls, while the count may fall only so many pods, or so much of it, in some seconds.
func ratesCase(c *Case, r random, i int) {
	windows := []int32{0, 60, 0, 300, 0, 60}
	policies := []autoscalingv2.HPAScalingPolicy{
		policy(podsPolicy, 1, 15), policy(podsPolicy, 4, 15), policy(percentPolicy, 10, 15), policy(percentPolicy, 10, 15),
		policy(podsPolicy, 2, 30), policy(percentPolicy, 20, 15),
	}
	c.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleDown: rules(windows[i%len(windows)], most, policies[i%len(policies)]),
	}
	base, to := r.scaled(25, 50), r.of(0.1, 0.3)
	c.Load = join(flat(200, base), flat(1600, base*to))
	c.note("down by %d %s in %d s, window %d s: from %.1f to %.1f pods", policies[i%len(policies)].Value,
		policies[i%len(policies)].Type, policies[i%len(policies)].PeriodSeconds, windows[i%len(windows)], base, base*to)
}

// slowly has a window for scaling up, with the default rates.
func slowly(window int32) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return &autoscalingv2.HorizontalPodAutoscalerBehavior{
		ScaleUp: rules(window, most, policy(percentPolicy, 100, 15), policy(podsPolicy, 4, 15)),
	}
}

// upwindowCase has a noisy load that rises, with a window for scaling up.
func upwindowCase(c *Case, r random, i int) {
	window := []int32{30, 60, 120, 300}[i%4]
	c.Behavior = slowly(window)
	base, deviation := r.scaled(3, 20), r.of(0.1, 0.2, 0.3)
	c.Load = noise{base, 0.9, deviation * 0.43, 0.05}.load(r, 1800)
	for k := range c.Load {
		if k > 300 {
			c.Load[k] *= 1 + min(1.5, float64(k-300)/400)
		}
	}
	c.note("window %d s: %.1f pods with a deviation of %.0f %%, then up to 2.5 times", window, base, deviation*100)
}

// pulseCase has a load that comes and goes within the window for scaling up.
func pulseCase(c *Case, r random, i int) {
	window := []int32{15, 30, 60, 180}[i%4]
	c.Behavior = slowly(window)
	base, factor, period, part := r.scaled(3, 12), r.of(2, 3, 4), r.of(20, 30, 45, 60), r.of(0.5, 0.66, 0.8)
	c.Load = join(flat(120, base), periodic(1500, base*0.7, factor, period, part))
	c.note("window %d s: %.1f pods, times %.1f for %.0f %% of every %.0f s", window, base*0.7, factor, part*100, period)
}
