package load

import (
	"strings"
	"testing"
	"time"
)

// TestFrom: a part of a load is the load from there on, with its gaps, its clock and its own peak, sped up or not.
func TestFrom(t *testing.T) {
	const rows = "1000,50\n1060,10\n1120,20\n1180,30\n1360,40\n1420,5\n"
	whole, err := ReadTrace("trace.csv", strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	const offset = 90 * time.Second
	part, err := whole.FromTime(time.Unix(1090, 0))
	if err != nil {
		t.Fatal(err)
	}
	if part.Length != whole.Length-offset || !part.Start.Equal(time.Unix(1090, 0)) || part.Offset() != offset {
		t.Errorf("%v from %v, %v left out", part.Length, part.Start, part.Offset())
	}
	fast := part.SpedUp(2)
	for at := time.Duration(0); at < part.Length; at += 7 * time.Second {
		if part.Rate(at) != whole.Rate(at+offset) || part.IsMissing(at) != whole.IsMissing(at+offset) ||
			part.Mean(at, at+10*time.Second) != whole.Mean(at+offset, at+offset+10*time.Second) ||
			fast.Rate(at/2) != part.Rate(at) {
			t.Fatalf("after %v: %v, and in the whole %v", at, part.Rate(at), whole.Rate(at+offset))
		}
	}
	for lasts, want := range map[time.Duration]float64{
		10 * time.Second: 10, 30 * time.Second: 10, 31 * time.Second: 20, 100 * time.Second: 30, part.Length: 40,
	} {
		if got := part.PeakWithin(lasts); got != want {
			t.Errorf("the peak of %v is %v, want %v", lasts, got, want)
		}
	}
	if got := fast.PeakWithin(16 * time.Second); got != 20 {
		t.Errorf("the peak of 32 s in 16 is %v, want 20", got)
	}
	if got := whole.PeakWithin(whole.Length); got != whole.Peak {
		t.Errorf("the whole peak is %v, want %v", got, whole.Peak)
	}
}

// TestFromShape: shapes have no clock, but a beginning; what is sped up has another clock.
func TestFromShape(t *testing.T) {
	shape, err := Parse("step:10@0s,100@1m,20@3m")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shape.FromTime(time.Unix(0, 0)); err == nil {
		t.Error("a shape has no clock")
	}
	if _, err := shape.SpedUp(2).From(time.Second); err == nil {
		t.Error("a load that is played faster has another clock")
	}
	part, err := shape.From(2 * time.Minute)
	if err != nil || part.Rate(0) != 100 || part.Rate(time.Minute) != 20 || part.PeakWithin(time.Second) != 100 {
		t.Errorf("%v, %v", part, err)
	}
	if part, err = part.From(time.Minute); err != nil || part.Rate(0) != 20 || part.Offset() != 3*time.Minute {
		t.Errorf("%v, %v", part, err)
	}
}
