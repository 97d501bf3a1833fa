package meter

import (
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/averaging"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// TestKubelet: averages over at most 15 s, and the last three intervals.
func TestKubelet(t *testing.T) {
	var m Meter
	if m.HasAverage() || m.Average(noon, averaging.StableWindow).Present || m.Recent(noon)[0].Present {
		t.Error("nothing read is no rate")
	}
	used := 0.0
	for second := range 40 {
		m.Read(time.Duration(second)*time.Second, Reading{At: time.Duration(second) * time.Second, CPUSeconds: used})
		used += 0.1 * float64(second%4) // 0, 100, 200, 300, 0, … milli-cores
	}
	if got, want := m.Average(noon, averaging.StableWindow), sample(140, 39*time.Second, 15*time.Second); got != want {
		t.Errorf("average %+v, want %+v", got, want)
	}
	recent := m.Recent(noon)
	for k, want := range []int64{200, 100, 0} {
		if got := recent[k]; got.Milli < want || got.Milli > want+1 || got.Window != time.Second ||
			!got.At.Equal(noon.Add(time.Duration(39-k)*time.Second)) {
			t.Errorf("interval %d: %+v, want %dm", k, got, want)
		}
	}
}

// TestDense: of readings four times a second, older ones are left out so that averages span the stable window, and the
// newest are all kept; the three intervals are of a quarter of a second, a second and another quarter.
func TestDense(t *testing.T) {
	var m Meter
	used := 0.0
	for i := range 200 {
		at := time.Duration(i) * 250 * time.Millisecond
		m.Read(at, Reading{At: at, CPUSeconds: used})
		used += 0.025 * float64(i%4) // 0, 100, 200, 300, 0, … milli-cores
		if i < 70 {
			continue
		}
		if got := m.Average(noon, averaging.StableWindow); got.Window < 13*time.Second || got.Window > 15*time.Second ||
			got.Milli < 145 || got.Milli > 156 {
			t.Fatalf("reading %d: average %+v", i, got)
		}
		for k, want := range []time.Duration{250 * time.Millisecond, time.Second, 250 * time.Millisecond} {
			milli := []int64{100 * int64((i+3)%4), 150, 100 * int64((i+2)%4)}[k]
			if got := m.Recent(noon)[k]; got.Window != want || got.Milli < milli || got.Milli > milli+1 {
				t.Fatalf("reading %d, interval %d: %+v, want %dm in %v", i, k, got, milli, want)
			}
		}
	}
}

// TestWindows: an average is over the longest span in a window, and over the
// last interval if that alone is longer.
func TestWindows(t *testing.T) {
	var m Meter
	for second := range 31 {
		m.Read(time.Duration(second)*time.Second, Reading{At: time.Duration(second) * time.Second, CPUSeconds: max(0, float64(second)-20)})
	}
	for window, want := range map[time.Duration]time.Duration{
		15 * time.Second: 15 * time.Second, 5900 * time.Millisecond: 5 * time.Second, 100 * time.Millisecond: time.Second,
	} {
		if got := m.Average(noon, window); got.Window != want {
			t.Errorf("a window of %v: over %v, want %v", window, got.Window, want)
		}
	}
}

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

// TestSameSample: a sample that is read again is not new, and one that nothing follows is not known for ever.
func TestSameSample(t *testing.T) {
	var m Meter
	for _, step := range []struct {
		now, at time.Duration
		isNew   bool
	}{
		{time.Second, 0, true}, {2 * time.Second, 0, false}, {13 * time.Second, 12 * time.Second, true},
		{14 * time.Second, 12 * time.Second, false}, {15 * time.Second, 12050 * time.Millisecond, false},
	} {
		if got := m.Read(step.now, Reading{At: step.at, CPUSeconds: step.at.Seconds() / 2}); got != step.isNew {
			t.Errorf("a sample of %v read at %v is new: %v", step.at, step.now, got)
		}
	}
	if got, want := m.Average(noon, averaging.StableWindow), sample(500, 12*time.Second, 12*time.Second); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	for now, isKnown := range map[time.Duration]bool{45 * time.Second: true, 45*time.Second + 1: false} {
		if m.IsKnown(now) != isKnown {
			t.Errorf("after %v, known: %v", now, !isKnown)
		}
	}
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
