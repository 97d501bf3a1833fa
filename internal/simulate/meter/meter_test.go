package meter

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestServer: the last two readings, once they are published; of a container that is
// between ten seconds and a resolution old, its whole life.
func TestServer(t *testing.T) {
	var m Meter
	step := func(at time.Duration, cpu float64) metric.Sample {
		m.Scrape(Reading{At: at, CPUSeconds: cpu})
		m.Publish(3*time.Second, 15*time.Second)
		return m.Served(noon)
	}
	if got := step(5*time.Second, 1); got.Present {
		t.Errorf("one reading: %+v", got)
	}
	if got, want := step(20500*time.Millisecond, 3), sample(130, 20*time.Second, 15500*time.Millisecond); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	m = Meter{}
	if got, want := step(15*time.Second, 6), sample(500, 15*time.Second, 12*time.Second); got != want {
		t.Errorf("a young container: %+v, want %+v", got, want)
	}
	m.Scrape(Reading{At: 30 * time.Second, CPUSeconds: 9})
	if got := m.Served(noon); !got.At.Equal(noon.Add(15 * time.Second)) {
		t.Errorf("served before it was published: %+v", got)
	}
}

func sample(milli int64, at, window time.Duration) metric.Sample {
	return metric.Sample{Present: true, Milli: milli, At: noon.Add(at), Window: window}
}

// TestServerGetsASampleAgain: the average that metrics-server had stays.
func TestServerGetsASampleAgain(t *testing.T) {
	var m Meter
	var want metric.Sample
	for k, at := range []time.Duration{16 * time.Second, 29 * time.Second, 29 * time.Second, 29 * time.Second, 48 * time.Second} {
		m.Scrape(Reading{At: at, CPUSeconds: at.Seconds() / 2})
		m.Publish(0, 15*time.Second)
		switch k {
		case 0:
			want = metric.Sample{}
		case 4:
			want = sample(500, 48*time.Second, 19*time.Second)
		default:
			want = sample(500, 29*time.Second, 13*time.Second)
		}
		if got := m.Served(noon); got != want {
			t.Errorf("scrape %d: %+v, want %+v", k, got, want)
		}
	}
}

// TestServerForgets: a container that one scrape did not bring has an average again after two more.
func TestServerForgets(t *testing.T) {
	var m Meter
	for k, want := range []bool{false, true, true, false, false, true} {
		at := time.Duration(k+2) * 15 * time.Second
		if k != 3 {
			m.Scrape(Reading{At: at, CPUSeconds: at.Seconds()})
		}
		m.Publish(0, 15*time.Second)
		if got := m.Served(noon).Present; got != want {
			t.Errorf("scrape %d: has an average: %v, want %v", k, got, want)
		}
	}
}
