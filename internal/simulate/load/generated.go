package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// day is how long generated loads are.
const day = 24 * time.Hour

// generators make a day minute by minute: what part of the peak there is. They are
// made here, so that a comparison needs no file, and are of the kinds that recorded
// traces show.
var generators = map[string]func(minute float64, random *rand.Rand) float64{
	// office follows office hours: two humps, a dip at noon, little at night.
	"office": func(m float64, r *rand.Rand) float64 {
		return (0.08 + 0.75*hump(m, 10.5*60, 90) + 0.7*hump(m, 15*60, 110)) * jitter(r, 0.05)
	},
	// shop is a smooth wave with an evening peak.
	"shop": func(m float64, r *rand.Rand) float64 {
		return (0.35 - 0.25*math.Cos(2*math.Pi*(m-3*60)/1440) + 0.35*hump(m, 20*60, 70)) * jitter(r, 0.08)
	},
	// flash is calm with crowds that come within a minute and leave within a quarter of
	// an hour.
	"flash": func(m float64, r *rand.Rand) float64 {
		return (0.1 + 0.9*crowd(m, 9*60+17) + 0.5*crowd(m, 13*60+42) + 0.8*crowd(m, 19*60+5)) * jitter(r, 0.05)
	},
	// batch is a job of seven minutes at each full hour.
	"batch": func(m float64, r *rand.Rand) float64 {
		if math.Mod(m, 60) < 7 {
			return 0.9 * jitter(r, 0.05)
		}
		return 0.12 * jitter(r, 0.05)
	},
	// noisy is level, but no minute is like the one before.
	"noisy": func(_ float64, r *rand.Rand) float64 { return 0.5 * jitter(r, 0.35) },
}

// GeneratedNames has the names that Generated accepts.
func GeneratedNames() []string {
	var names []string
	for name := range generators {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Generated is a day of a kind, in steps of a minute, with a peak of about 100.
func Generated(name string) (*Load, error) {
	generate, known := generators[name]
	if !known {
		return nil, fmt.Errorf("load %q is not generated, known are %s", name, strings.Join(GeneratedNames(), ", "))
	}
	random := rand.New(rand.NewPCG(uint64(len(name)), 20260101))
	l := &Load{Name: "generated:" + name, Length: day, Burstiness: math.NaN(), speedUp: 1}
	var points []workloadmodel.Point
	for minute := range int(day / time.Minute) {
		rate := 100 * max(0, generate(float64(minute), random))
		l.Peak = max(l.Peak, rate)
		points = append(points, workloadmodel.Point{At: time.Duration(minute) * time.Minute, RequestsPerSecond: rate})
	}
	shape, err := workloadmodel.NewSteps(points)
	if err != nil {
		return nil, err
	}
	l.shape = shape
	return l, nil
}

// hump is a bell around a minute of the day.
func hump(minute, middle, width float64) float64 {
	x := (minute - middle) / width
	return math.Exp(-x * x)
}

// crowd comes at once and goes away slowly.
func crowd(minute, comes float64) float64 {
	if minute < comes {
		return 0
	}
	return math.Exp(-(minute - comes) / 8)
}

func jitter(random *rand.Rand, by float64) float64 { return 1 + by*(2*random.Float64()-1) }
