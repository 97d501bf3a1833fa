package load

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/workloadmodel"
)

// Load is a rate over time.
type Load struct {
	// Name is the file or the text that the load was read from.
	Name string
	// Length is the duration of the load; 0 means that it has no end.
	Length time.Duration
	// Peak is its largest rate.
	Peak float64
	// Burstiness is the burstiness in the load's text; NaN without one.
	Burstiness float64
	// Start is when a trace begins; zero for shapes.
	Start time.Time

	shape   workloadmodel.Shape
	speedUp float64
	// offset is the start of the load in the shape.
	offset time.Duration
	// rows are when the values of a trace begin to hold; nil for shapes.
	rows []time.Duration
	// gaps has the times without rows in a trace, oldest first.
	gaps []gap
}

// gap is a part of a trace without rows.
type gap struct{ from, to time.Duration }

// shapeLength is how far a shape without an end is searched for its peak.
const shapeLength = 7 * 24 * time.Hour

// Parse reads a load from text: step:10@0s,100@30s; ramp:10@0s,100@5m;
// sine:mean=100,amplitude=50,period=10m; poisson:100 or poisson:mean=100,burstiness=4;
// generated:NAME; or else the name of a trace.
func Parse(text string) (*Load, error) {
	kind, rest, found := strings.Cut(text, ":")
	switch {
	case found && (kind == "step" || kind == "ramp" || kind == "sine"):
		shape, err := workloadmodel.ParseShape(text)
		if err != nil {
			return nil, err
		}
		return ofShape(text, shape), nil
	case found && kind == "poisson":
		return parsePoisson(text, rest)
	case found && kind == "generated":
		return Generated(rest)
	default:
		return openTrace(text)
	}
}

func ofShape(name string, shape workloadmodel.Shape) *Load {
	l := &Load{Name: name, Burstiness: math.NaN(), shape: shape, speedUp: 1}
	// Lines are highest at a point, and points are at whole seconds as a rule.
	for at := time.Duration(0); at < shapeLength; at += stepOf(at) {
		l.Peak = max(l.Peak, shape.Rate(at))
	}
	return l
}

// stepOf looks closely at the first hours, in which shapes change most.
func stepOf(at time.Duration) time.Duration {
	if at < 6*time.Hour {
		return time.Second
	}
	return 10 * time.Second
}

func parsePoisson(text, rest string) (*Load, error) {
	mean, burstiness := math.NaN(), math.NaN()
	for field := range strings.SplitSeq(rest, ",") {
		key, value, found := strings.Cut(strings.TrimSpace(field), "=")
		if !found {
			key, value = "mean", key
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil || !(number >= 0) || math.IsInf(number, 0) {
			return nil, fmt.Errorf("load %q: %q is no number of at least 0", text, value)
		}
		switch key {
		case "mean":
			mean = number
		case "burstiness":
			burstiness = number
		default:
			return nil, fmt.Errorf("load %q: unknown field %q, known are mean and burstiness", text, key)
		}
	}
	if math.IsNaN(mean) {
		return nil, fmt.Errorf("load %q: say how much, as in poisson:100 or poisson:mean=100,burstiness=4", text)
	}
	l := ofShape(text, workloadmodel.Constant(mean))
	l.Burstiness = burstiness
	return l, nil
}

// FromShape is a load of a shape that a program has made.
func FromShape(name string, shape workloadmodel.Shape) *Load { return ofShape(name, shape) }

// SpedUp returns the same load, faster by a factor.
func (l *Load) SpedUp(times float64) *Load {
	faster := *l
	faster.speedUp *= times
	faster.Length = time.Duration(float64(l.Length) / times)
	return &faster
}

// Rate is the load at a time.
func (l *Load) Rate(at time.Duration) float64 { return l.shape.Rate(l.stretched(at)) }

// Mean is the load's mean from one time to another.
func (l *Load) Mean(from, to time.Duration) float64 {
	a, b := l.stretched(from), l.stretched(to)
	if b <= a {
		return l.Rate(from)
	}
	return max(0, l.shape.Requests(b)-l.shape.Requests(a)) / (b - a).Seconds()
}

// IsMissing reports whether a trace has no row for a time.
func (l *Load) IsMissing(at time.Duration) bool {
	at = l.stretched(at)
	i := sort.Search(len(l.gaps), func(i int) bool { return l.gaps[i].to > at })
	return i < len(l.gaps) && l.gaps[i].from <= at
}

// IsSpedUp reports whether the load goes faster than its own clock.
func (l *Load) IsSpedUp() bool { return l.speedUp != 1 }

func (l *Load) stretched(at time.Duration) time.Duration {
	if l.speedUp == 1 {
		return at + l.offset
	}
	return time.Duration(float64(at)*l.speedUp) + l.offset
}
