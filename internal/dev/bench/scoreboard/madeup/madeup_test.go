package madeup

import (
	"math"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
)

func make1(t *testing.T, name string, seed uint64) *load.Load {
	t.Helper()
	l, err := Make(name, seed)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// mean is the mean of this many minutes from a time of a day on.
func mean(l *load.Load, day, hour, minutes int) float64 {
	from := time.Duration(24*day+hour) * time.Hour
	return l.Mean(from, from+time.Duration(minutes)*time.Minute)
}

// TestSeeds: a load is its seed's alone, has three weeks, and is about as large as the others.
func TestSeeds(t *testing.T) {
	for _, name := range append(Names(), DrawnNames()...) {
		one, again, other := make1(t, name, 1), make1(t, name, 1), make1(t, name, 2)
		if one.Length != 21*24*time.Hour || one.Peak < 25 || one.Peak > 160 || one.Name != name {
			t.Errorf("%s: %v long, %v at most", one.Name, one.Length, one.Peak)
		}
		differs, largest := false, 0.0
		for at := time.Duration(0); at < one.Length; at += time.Minute {
			if one.Rate(at) != again.Rate(at) {
				t.Fatalf("%s: one seed, two loads at %v", name, at)
			}
			differs = differs || one.Rate(at) != other.Rate(at)
			largest = max(largest, one.Rate(at))
		}
		if !differs || largest != one.Peak {
			t.Errorf("%s: two seeds, one load: %t; the largest value is %v, not %v", name, !differs, largest, one.Peak)
		}
	}
	if _, err := Make("office", 1); err == nil {
		t.Error("an unknown load is made")
	}
}

// TestChanges: what recurs, and what changes when.
func TestChanges(t *testing.T) {
	for _, test := range []struct {
		name      string
		day, hour int
		minutes   int
		want      float64
	}{
		{"daily-jump", 3, 9, 30, 90}, {"daily-jump", 17, 9, 30, 90}, {"daily-jump", 3, 10, 60, 25},
		{"hourly-jump", 3, 9, 7, 85}, {"hourly-jump", 20, 23, 7, 85},
		{"level-drop", 9, 20, 30, 72}, {"level-drop", 10, 20, 30, 0.4 * 72},
		{"shift-3h", 9, 20, 30, 72}, {"shift-3h", 10, 23, 30, 72}, {"shift-3h", 10, 20, 30, 28.8},
		{"weekends", 4, 20, 30, 72}, {"weekends", 5, 20, 30, 11.6}, {"weekends", 7, 20, 30, 72},
		{"daylight-saving", 9, 20, 30, 72}, {"daylight-saving", 10, 19, 30, 72}, {"daylight-saving", 10, 7, 20, 69},
	} {
		if got := mean(make1(t, test.name, 1), test.day, test.hour, test.minutes); math.Abs(got/test.want-1) > 0.06 {
			t.Errorf("%s, day %d, %d:00: %.1f, want %.1f", test.name, test.day, test.hour, got, test.want)
		}
	}
}

// TestNothingRecurs: in random loads, a day does not predict the next one.
func TestNothingRecurs(t *testing.T) {
	for _, name := range []string{"random-walk", "noise", "random-bursts"} {
		l := make1(t, name, 3)
		var days [][]float64
		for day := range 20 {
			var values []float64
			for m := range minutesOfDay {
				values = append(values, l.Rate(time.Duration(day*minutesOfDay+m)*time.Minute))
			}
			days = append(days, values)
		}
		sum := 0.0
		for day := range 19 {
			sum += correlation(days[day], days[day+1])
		}
		if r := sum / 19; math.Abs(r) > 0.25 {
			t.Errorf("%s: one day's correlation with the next is %.2f", name, r)
		}
	}
	l := make1(t, "noise", 1)
	if early, late := mean(l, 0, 0, 5*minutesOfDay), mean(l, 16, 0, 5*minutesOfDay); math.Abs(early/late-1) > 0.01 {
		t.Errorf("noise goes from %v to %v", early, late)
	}
}

// TestDrawn: what is drawn to recur resembles the day before, whatever the seed and although it is disturbed.
func TestDrawn(t *testing.T) {
	for seed := range uint64(3) {
		for _, name := range []string{
			"drawn-hourly", "drawn-two-hourly", "drawn-batch", "drawn-stops", "drawn-moves", "drawn-level", "drawn-smooth",
		} {
			l := make1(t, name, seed)
			of := func(day int) (values []float64) {
				for m := range minutesOfDay {
					values = append(values, l.Rate(time.Duration(day*minutesOfDay+m)*time.Minute))
				}
				return values
			}
			if r, later := correlation(of(1), of(2)), correlation(of(17), of(18)); r < 0.2 || later < 0.2 {
				t.Errorf("%s, seed %d: correlations with the day before of %.2f, later %.2f", name, seed, r, later)
			}
		}
	}
}

func correlation(a, b []float64) float64 {
	var x, y, xx, yy, xy float64
	n := float64(len(a))
	for i := range a {
		x, y, xx, yy, xy = x+a[i], y+b[i], xx+a[i]*a[i], yy+b[i]*b[i], xy+a[i]*b[i]
	}
	return (xy/n - x/n*y/n) / math.Sqrt((xx/n-x/n*x/n)*(yy/n-y/n*y/n))
}
