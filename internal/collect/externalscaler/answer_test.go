package externalscaler

import (
	"math"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler/pb"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

func TestTargetOf(t *testing.T) {
	metrics := func(all ...*pb.MetricSpec) []*pb.MetricSpec { return all }
	for name, c := range map[string]struct {
		metricName string
		hasTarget  bool
		specs      []*pb.MetricSpec
		want       target
		err        string
	}{
		"whole":            {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSize: 5}), target{"q", 5000}, ""},
		"exact":            {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSizeFloat: 6.111}), target{"q", 6111}, ""},
		"exact and whole":  {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSize: 7, TargetSizeFloat: 0.5}), target{"q", 500}, ""},
		"cut, as in KEDA":  {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSizeFloat: 1.9999}), target{"q", 1999}, ""},
		"the spec has one": {"", true, metrics(&pb.MetricSpec{MetricName: "q"}), target{"q", 0}, ""},
		"no name":          {"", false, metrics(&pb.MetricSpec{TargetSize: 1}), target{"", 1000}, ""},
		"the named one": {"b", false, metrics(&pb.MetricSpec{MetricName: "a", TargetSize: 1},
			&pb.MetricSpec{MetricName: "b", TargetSize: 2}), target{"b", 2000}, ""},
		"none":         {"", false, nil, target{}, "no metric"},
		"two, no name": {"", false, metrics(&pb.MetricSpec{MetricName: "a"}, &pb.MetricSpec{MetricName: "b"}), target{}, "metricName is needed"},
		"another name": {"b", false, metrics(&pb.MetricSpec{MetricName: "a", TargetSize: 1}), target{}, "metricName"},
		"zero":         {"", false, metrics(&pb.MetricSpec{MetricName: "q"}), target{}, "target"},
		"negative":     {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSize: -1}), target{}, "target"},
		"NaN":          {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSizeFloat: math.NaN()}), target{}, "target"},
		"infinite":     {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSizeFloat: math.Inf(1)}), target{}, "target"},
		"too small":    {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSizeFloat: 0.0001}), target{}, "target"},
		"too large":    {"", false, metrics(&pb.MetricSpec{MetricName: "q", TargetSize: math.MaxInt64}), target{}, "target"},
		"too many":     {"q", false, slices.Repeat(metrics(&pb.MetricSpec{MetricName: "q", TargetSize: 1}), 101), target{}, "at most 100"},
	} {
		spec := &sources.ExternalScaler{MetricName: c.metricName, HasTarget: c.hasTarget}
		got, err := targetOf(spec, &pb.GetMetricSpecResponse{MetricSpecs: c.specs})
		if got != c.want || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestTargetOfScaler: plimsoll-scalers sends thousandths as floats, of which some are a little less.
func TestTargetOfScaler(t *testing.T) {
	for milli := int64(1); milli < 10000; milli++ {
		size := resource.NewMilliQuantity(milli, resource.DecimalSI).AsApproximateFloat64()
		got, err := targetOf(&sources.ExternalScaler{FromPlimsollScalers: true}, &pb.GetMetricSpecResponse{
			MetricSpecs: []*pb.MetricSpec{{MetricName: "q", TargetSizeFloat: size}},
		})
		if err != nil || got.milli != milli {
			t.Fatalf("%v: %+v, %v", size, got, err)
		}
	}
}

func TestSeriesOf(t *testing.T) {
	whole := func(v int64) *pb.MetricValue { return &pb.MetricValue{MetricName: "q", MetricValue: v} }
	exact := func(v float64) *pb.MetricValue { return &pb.MetricValue{MetricName: "q", MetricValueFloat: v} }
	for name, c := range map[string]struct {
		values []*pb.MetricValue
		want   []float64
		err    string
	}{
		"whole":             {[]*pb.MetricValue{whole(12)}, []float64{12}, ""},
		"exact":             {[]*pb.MetricValue{exact(22.222)}, []float64{22.222}, ""},
		"exact and whole":   {[]*pb.MetricValue{{MetricValue: 7, MetricValueFloat: 0.5}}, []float64{0.5}, ""},
		"zero":              {[]*pb.MetricValue{whole(0)}, []float64{0}, ""},
		"any name":          {[]*pb.MetricValue{{MetricName: "other", MetricValue: 1}, whole(2)}, []float64{1, 2}, ""},
		"negative":          {[]*pb.MetricValue{whole(1), exact(-1)}, nil, "negative"},
		"negative, whole":   {[]*pb.MetricValue{whole(-1)}, nil, "negative"},
		"negative, ignored": {[]*pb.MetricValue{{MetricValue: -1, MetricValueFloat: 3}}, []float64{3}, ""},
		"NaN":               {[]*pb.MetricValue{exact(math.NaN())}, nil, "not a number"},
		"infinite":          {[]*pb.MetricValue{exact(math.Inf(1))}, nil, "not a number"},
		"minus infinite":    {[]*pb.MetricValue{exact(math.Inf(-1))}, nil, "not a number"},
		"none":              {nil, nil, "no value"},
		"most":              {slices.Repeat([]*pb.MetricValue{whole(1)}, 1000), slices.Repeat([]float64{1}, 1000), ""},
		"too many":          {slices.Repeat([]*pb.MetricValue{whole(1)}, 1001), nil, "at most 1000"},
	} {
		got, err := seriesOf(&pb.GetMetricsResponse{MetricValues: c.values})
		if !slices.Equal(got, c.want) || (err != nil) != (c.err != "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}
