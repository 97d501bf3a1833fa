package workloadmodel

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseShape(t *testing.T) {
	tests := map[string]struct {
		at       time.Duration
		rate     float64
		requests float64
	}{
		"50":                                   {time.Minute, 50, 3000},
		" 0.5 ":                                {time.Minute, 0.5, 30},
		"step:10@0s,100@30s":                   {40 * time.Second, 100, 300 + 1000},
		"step: 10@5s, 100@30s, 0@1m":           {2 * time.Minute, 0, 250 + 3000},
		"step:7@10s":                           {5 * time.Second, 0, 0},
		"ramp:0@0s,100@10s":                    {5 * time.Second, 50, 125},
		"ramp:10@10s,20@20s":                   {30 * time.Second, 20, 100 + 150 + 200},
		"ramp:3@10s":                           {5 * time.Second, 3, 15},
		"sine:mean=100,amplitude=50,period=4m": {time.Minute, 150, 6000 + 50*240/(2*math.Pi)},
	}
	for text, tt := range tests {
		t.Run(text, func(t *testing.T) {
			shape, err := ParseShape(text)
			if err != nil {
				t.Fatal(err)
			}
			near(t, "rate", shape.Rate(tt.at), tt.rate)
			near(t, "requests", shape.Requests(tt.at), tt.requests)
		})
	}
}

func TestParseShapeRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "not a number",
		"ten":                                  "not a number",
		"-1":                                   "at least 0",
		"NaN":                                  "finite",
		"+Inf":                                 "finite",
		"square:1@0s":                          "unknown shape",
		"step:":                                "RATE@TIME",
		"step:1":                               "RATE@TIME",
		"step:1@soon":                          "time of",
		"step:1@10s,2@5s":                      "not after",
		"step:1@-5s":                           "at least 0",
		"ramp:x@0s":                            "not a number",
		"sine:mean=1,amplitude=2,period=1m":    "amplitude",
		"sine:mean=1,amplitude=1":              "period",
		"sine:mean=1,wavelength=1":             "unknown field",
		"sine:mean=x":                          "not a number",
		"sine:mean=5,amplitude=NaN,period=10m": "finite",
	} {
		if _, err := ParseShape(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseShape(%q): %v, want an error with %q", text, err, want)
		}
	}
}

// TestRequestsIsTheIntegralOfRate compares the closed forms with a naive sum, and cuts an interval in two.
func TestRequestsIsTheIntegralOfRate(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		shape := drawShape(rt)
		to := time.Duration(rapid.IntRange(1, 600).Draw(rt, "to")) * time.Second
		const slices = 20000
		var naive float64
		for i := range slices {
			naive += shape.Rate(time.Duration((float64(i)+0.5)/slices*float64(to))) * to.Seconds() / slices
		}
		// A jump inside one slice is off by at most the rate times half a slice, for each of at most 6 points.
		tolerance := 6 * 1000 * to.Seconds() / slices
		if got := shape.Requests(to); math.Abs(got-naive) > tolerance {
			rt.Fatalf("requests until %v: %v, naively %v", to, got, naive)
		}
		middle := to / 3
		if shape.Requests(middle) > shape.Requests(to)+1e-6 || shape.Rate(middle) < 0 {
			rt.Fatalf("requests fall, or a negative rate %v", shape.Rate(middle))
		}
	})
}

func drawShape(rt *rapid.T) Shape {
	rate := rapid.Float64Range(0, 1000)
	var points []Point
	at := time.Duration(0)
	for range rapid.IntRange(1, 6).Draw(rt, "points") {
		points = append(points, Point{At: at, RequestsPerSecond: rate.Draw(rt, "rate")})
		at += time.Duration(rapid.IntRange(1, 200).Draw(rt, "gap")) * time.Second
	}
	var shape Shape
	var err error
	switch rapid.IntRange(0, 2).Draw(rt, "kind") {
	case 0:
		shape, err = NewSteps(points)
	case 1:
		shape, err = NewTrace(points)
	default:
		mean := rate.Draw(rt, "mean")
		shape, err = NewSine(mean, mean*rapid.Float64Range(0, 1).Draw(rt, "part"), at)
	}
	if err != nil {
		rt.Fatal(err)
	}
	return shape
}

// TestStepLengthDoesNotChangeTheOffer runs the same minute in steps of different length.
func TestStepLengthDoesNotChangeTheOffer(t *testing.T) {
	shape, err := ParseShape("step:10@0s,100@7300ms,0@20s")
	if err != nil {
		t.Fatal(err)
	}
	for _, dt := range []time.Duration{time.Minute, time.Second, 300 * time.Millisecond, 100 * time.Millisecond} {
		f := newFixture(1, 0, shape)
		for f.model.Elapsed() < time.Minute {
			f.model.Advance(dt)
		}
		near(t, dt.String(), f.workload.Stats().OfferedTotal, 73+1270)
	}
}

func TestProfileValidate(t *testing.T) {
	if err := DefaultProfile().Validate(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Profile){
		"cpu per request": func(p *Profile) { p.CPUPerRequestMilliCoreSeconds = math.NaN() },
		"base memory":     func(p *Profile) { p.MemoryBaseBytes = -1 },
		"queue limit":     func(p *Profile) { p.QueueLimit = math.Inf(1) },
		"start-up":        func(p *Profile) { p.Startup = -time.Second },
		"imbalance":       func(p *Profile) { p.Imbalance = 1 },
		"noise":           func(p *Profile) { p.Noise = -0.1 },
	} {
		p := DefaultProfile()
		spoil(&p)
		if err := p.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
