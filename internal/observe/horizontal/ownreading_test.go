package horizontal

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
)

// TestServer: values become thousandths, of which one above zero is never zero, and a scaler's activity stays beside an
// error.
func TestServer(t *testing.T) {
	a := NewAnswers(&horizontal.Policy{Metrics: []source.Spec{{Type: source.ExternalScaler}}}, nil)
	read := a.Server(0, &sources.Answer{
		Series: []float64{0.29, 1e-9, 0, -1e-9, -2, math.MaxFloat64, -math.MaxFloat64}, TargetMilli: 7,
	})
	if want := []int64{290, 1, 0, 0, -2000, math.MaxInt64, math.MinInt64}; !slices.Equal(read.Series, want) ||
		read.TargetMilli != 7 {
		t.Errorf("%+v, want %v", read, want)
	}
	for name, answer := range map[string]sources.Answer{
		"an error":        {Err: errors.New("refused"), Activity: metric.Active},
		"no number":       {Series: []float64{1, math.NaN()}, Activity: metric.Active},
		"an infinite one": {Series: []float64{math.Inf(1)}, Activity: metric.Active},
	} {
		if read := a.Server(0, &answer); read.Error == "" || read.Series != nil || read.Activity != metric.Active {
			t.Errorf("%s: %+v", name, read)
		}
	}
	if read := a.Server(0, &sources.Answer{IsPending: true}); !read.Pending || read.Empty {
		t.Errorf("pending: %+v", read)
	}
	if read := a.Server(0, &sources.Answer{}); !read.Empty {
		t.Errorf("no series: %+v", read)
	}
}
