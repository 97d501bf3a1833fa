package workloadmodel

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseShape reads a load's text form:
//
//	50                                          constant
//	step:10@0s,100@30s,10@2m                    each rate from its time on
//	ramp:10@0s,100@5m                           straight lines between the points
//	sine:mean=100,amplitude=50,period=10m       a wave
//
// Rates are requests per second, times are since the load began.
func ParseShape(text string) (Shape, error) {
	shape, err := parseShape(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", text, err)
	}
	return shape, nil
}

func parseShape(text string) (Shape, error) {
	kind, rest, found := strings.Cut(text, ":")
	if !found {
		rate, err := parseRate(text)
		return Constant(rate), err
	}
	switch kind {
	case "step":
		points, err := parsePoints(rest)
		if err != nil {
			return nil, err
		}
		return NewSteps(points)
	case "ramp":
		points, err := parsePoints(rest)
		if err != nil {
			return nil, err
		}
		return NewTrace(points)
	case "sine":
		return parseSine(rest)
	default:
		return nil, fmt.Errorf("unknown shape %q, known are step, ramp and sine", kind)
	}
}

func parsePoints(text string) ([]Point, error) {
	var points []Point
	for field := range strings.SplitSeq(text, ",") {
		rateText, atText, found := strings.Cut(strings.TrimSpace(field), "@")
		if !found {
			return nil, fmt.Errorf("%q is not of the form RATE@TIME", field)
		}
		rate, err := parseRate(rateText)
		if err != nil {
			return nil, err
		}
		at, err := time.ParseDuration(atText)
		if err != nil {
			return nil, fmt.Errorf("time of %q: %w", field, err)
		}
		points = append(points, Point{At: at, RequestsPerSecond: rate})
	}
	return points, nil
}

func parseSine(text string) (Shape, error) {
	var mean, amplitude float64
	var period time.Duration
	for field := range strings.SplitSeq(text, ",") {
		key, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		var err error
		switch key {
		case "mean":
			mean, err = parseRate(value)
		case "amplitude":
			amplitude, err = parseRate(value)
		case "period":
			period, err = time.ParseDuration(value)
		default:
			err = fmt.Errorf("unknown field %q, known are mean, amplitude and period", key)
		}
		if err != nil {
			return nil, err
		}
	}
	return NewSine(mean, amplitude, period)
}

func parseRate(text string) (float64, error) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("rate %q is not a number", text)
	}
	if !isAmount(rate) {
		return 0, fmt.Errorf("rate %q must be finite and at least 0", text)
	}
	return rate, nil
}
