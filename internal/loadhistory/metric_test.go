package loadhistory

import (
	"math"
	"testing"
	"time"
)

// TestOfMetric: the load of one metric is kept for a day, and survives its encoding, in 2 kB.
func TestOfMetric(t *testing.T) {
	h := OfMetric()
	const days = 3
	load := func(second float64) float64 { return 5 + 4*math.Sin(second/86400*2*math.Pi) + 0.2*math.Sin(second) }
	for second := 0; second < days*86400; second++ {
		h.Add(after(second), Point{Load: load(float64(second))})
	}
	encoded, err := h.AppendBinary(nil)
	if err != nil || len(encoded) > 2<<10 {
		t.Fatalf("%d bytes, %v", len(encoded), err)
	}
	again := OfMetric()
	if err := again.UnmarshalBinary(encoded); err != nil {
		t.Fatal(err)
	}
	finest := map[time.Duration]time.Time{}
	for _, p := range all(&again) {
		if finest[p.Every].IsZero() {
			finest[p.Every] = p.At
		}
		if want := load(p.At.Sub(begin).Seconds()); math.Abs(p.Load-want) > 0.5 {
			t.Fatalf("%v: %v, want about %v", p.At, p.Load, want)
		}
	}
	end := after(days * 86400)
	if len(finest) != 2 || end.Sub(finest[time.Second]) < 15*time.Minute || end.Sub(finest[time.Minute]) < 24*time.Hour {
		t.Errorf("kept from %v", finest)
	}
	var whole History
	if err := whole.UnmarshalBinary(encoded); err != nil {
		t.Errorf("as a history of all: %v", err)
	}
}
