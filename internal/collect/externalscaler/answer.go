package externalscaler

import (
	"errors"
	"fmt"
	"math"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

const (
	maxMetrics = 100
	maxValues  = 1000
	perUnit    = 1000
)

// target is the name of a metric and its target.
type target struct {
	name  string
	milli int64
}

// targetOf selects the spec's metric among those of the scaler, with the scaler's target. As in KEDA, a target that is
// a float has precedence if it is above 0, and is truncated to thousandths.
func targetOf(spec *sources.ExternalScaler, response *pb.GetMetricSpecResponse) (target, error) {
	specs := response.GetMetricSpecs()
	switch {
	case len(specs) == 0:
		return target{}, errors.New("the scaler has no metric")
	case len(specs) > maxMetrics:
		return target{}, fmt.Errorf("the scaler has %d metrics, at most %d are permitted", len(specs), maxMetrics)
	case spec.MetricName == "" && len(specs) > 1:
		return target{}, fmt.Errorf("the scaler has %d metrics, so metricName is needed", len(specs))
	}
	for _, s := range specs {
		if spec.MetricName != "" && s.GetMetricName() != spec.MetricName {
			continue
		}
		t := target{name: s.GetMetricName()}
		if spec.HasTarget {
			return t, nil
		}
		size := float64(s.GetTargetSize())
		if s.GetTargetSizeFloat() > 0 {
			size = s.GetTargetSizeFloat()
		}
		// Not a comparison that NaN passes.
		if isTarget := size*perUnit >= 1 && size*perUnit < math.MaxInt64; !isTarget {
			return target{}, errors.New("the scaler's target must be at least 0.001")
		}
		t.milli = int64(size * perUnit)
		if spec.FromPlimsollScalers {
			// plimsoll-scalers sends the float that is nearest to a number of thousandths.
			t.milli = int64(math.Round(size * perUnit))
		}
		return t, nil
	}
	return target{}, errors.New("the scaler has no metric of the name in metricName")
}

// seriesOf returns the values. As in KEDA, all of them count, whatever their names, and a float has precedence if it is
// above 0.
func seriesOf(response *pb.GetMetricsResponse) ([]float64, error) {
	values := response.GetMetricValues()
	switch {
	case len(values) == 0:
		return nil, errors.New("the scaler has no value")
	case len(values) > maxValues:
		return nil, fmt.Errorf("the scaler has %d values, at most %d are permitted", len(values), maxValues)
	}
	series := make([]float64, len(values))
	for i, v := range values {
		whole, exact := float64(v.GetMetricValue()), v.GetMetricValueFloat()
		switch {
		case math.IsNaN(exact) || math.IsInf(exact, 0):
			return nil, errors.New("a value is not a number")
		case exact < 0 || exact == 0 && whole < 0:
			return nil, errors.New("a value is negative")
		case exact > 0:
			series[i] = exact
		default:
			series[i] = whole
		}
	}
	return series, nil
}
