package loadhistory

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"
)

var begin = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func after(seconds int) time.Time { return begin.Add(time.Duration(seconds) * time.Second) }

func all(h *History) (points []Point) {
	h.Points(begin.AddDate(-10, 0, 0), begin.AddDate(10, 0, 0), func(p Point) bool {
		points = append(points, p)
		return true
	})
	return points
}

func TestTwoWeeks(t *testing.T) {
	var h History
	const days = 15
	for second := 0; second < days*86400; second += 5 {
		load := 5 + 4*math.Sin(float64(second)/86400*2*math.Pi) + 0.1*math.Sin(float64(second))
		h.Add(after(second), Point{Load: load, PerPodMilli: 350, Wanted: int32(load) + 1, Ready: int32(load) + 1})
	}
	points := all(&h)
	if first, _ := h.First(); first.After(after(86400)) || !points[0].At.Equal(first) {
		t.Errorf("the first point is of %v", first)
	}
	finest := map[time.Duration]time.Time{}
	for i := range points {
		p := &points[i]
		if finest[p.Every].IsZero() {
			finest[p.Every] = p.At
		}
		if i > 0 && p.At.Before(points[i-1].At.Add(points[i-1].Every)) {
			t.Fatalf("%v after %v: they overlap", p.At, points[i-1].At)
		}
		middle := p.At.Sub(begin).Seconds() + p.Every.Seconds()/2
		if want := 5 + 4*math.Sin(middle/86400*2*math.Pi); math.Abs(p.Load-want) > 0.4 || p.PerPodMilli != 350 {
			t.Fatalf("%v: %+v, want a load of about %.2f", p.At, *p, want)
		}
	}
	end := after(days * 86400)
	for every, least := range map[time.Duration]time.Duration{
		time.Second: 15 * time.Minute, time.Minute: 28 * time.Hour, 5 * time.Minute: 14 * 24 * time.Hour,
	} {
		if kept := end.Sub(finest[every]); kept < least {
			t.Errorf("%v of points of %v, want %v", kept, every, least)
		}
	}
}

func TestSize(t *testing.T) {
	var h History
	for second := range 20 * 86400 / 15 {
		h.Add(after(15*second), Point{Load: float64(second%1000) / 7, Wanted: int32(second % 50), Ready: int32(second % 49)})
	}
	checkSize(t, &h)
	if first, _ := h.First(); after(20*86400).Sub(first) < 3*24*time.Hour {
		t.Errorf("the oldest point is of %v, with counts that change all the time", first)
	}
}

func checkSize(t *testing.T, h *History) {
	t.Helper()
	bytes := int(unsafe.Sizeof(*h))
	for i := range h.tiers {
		bytes += cap(h.tiers[i].slots) * int(unsafe.Sizeof(slot{}))
	}
	if bytes > 12<<10 {
		t.Errorf("%d bytes resident, want 12 kB at most", bytes)
	}
	if b, err := h.AppendBinary(nil); err != nil || len(b) > MaxEncodedBytes {
		t.Errorf("%d bytes encoded, %v", len(b), err)
	}
}

func TestMerge(t *testing.T) {
	point := Point{Load: 3, Wanted: 3, Ready: 3}
	var earlier, now History
	for second := range 7200 {
		earlier.Add(after(second), point)
	}
	point.Load = 6
	for second := 7100; second < 9000; second++ {
		now.Add(after(second), point)
	}
	b, _ := earlier.AppendBinary(nil)
	var saved History
	if err := saved.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	now.Merge(&saved)
	points := all(&now)
	if !points[0].At.Equal(begin) {
		t.Errorf("the first point is of %v", points[0].At)
	}
	for i, p := range points {
		isNow := !p.At.Before(after(7100 - 300))
		if !isNow && math.Abs(p.Load-3) > 0.1 || !p.At.Before(after(7100)) && math.Abs(p.Load-6) > 0.1 {
			t.Fatalf("%+v", p)
		}
		if i > 0 && p.At.Before(points[i-1].At.Add(points[i-1].Every)) {
			t.Fatalf("%v after %v: they overlap", p.At, points[i-1].At)
		}
	}
	now.Merge(&History{})
	if got := all(&now); len(got) != len(points) {
		t.Errorf("%d points after an empty history was merged, want %d", len(got), len(points))
	}
}

// TestMinutes: points of minutes have no seconds, and lie before those that are recorded by the second.
func TestMinutes(t *testing.T) {
	var past, now History
	for minute := range 15 * 24 * 60 {
		past.AddMinute(after(60*minute), Point{Load: 3, PerPodMilli: 350, Limit: NotRecorded})
	}
	const start = 14 * 86400
	for second := range 300 {
		now.Add(after(start+second), Point{Load: 5, Wanted: 6, Ready: 6})
	}
	now.Merge(&past)
	checkSize(t, &now)
	points := all(&now)
	if first := &points[0]; !first.At.Equal(begin) || first.Every != 5*time.Minute || first.Limit != NotRecorded {
		t.Errorf("%+v", *first)
	}
	for i := range points {
		p := &points[i]
		isPast := p.At.Before(after(start))
		if isPast != (p.Limit == NotRecorded) || isPast && (p.Every < time.Minute || math.Abs(p.Load-3) > 0.04) ||
			!isPast && p.Wanted != 6 {
			t.Fatalf("%+v", *p)
		}
	}
}

// TestReachThroughRestarts: the history of busy loads reaches back as far as docs/forecast.md promises if the
// controller restarts all the time, and each time gets its checkpoint only after it has decided for a while.
func TestReachThroughRestarts(t *testing.T) {
	const hour, every, unread = 3600, 17 * 60, 40
	b := &busy{random: rand.New(rand.NewPCG(1, 2)), peak: 200, noise: 0.05, correlation: 0.8, startUp: 60}
	h := &History{}
	// A minute ends before the saved history is there.
	restarts := 40*hour + 30
	for second := 0; second < restarts; second += 15 {
		h.Add(after(second), b.at(second))
	}
	now := restarts
	for range 24 {
		saved, _ := h.AppendBinary(nil)
		h = &History{}
		for second := now; second < now+every; second++ {
			h.Add(after(second), b.at(second))
			if second == now+unread {
				var earlier History
				if err := earlier.UnmarshalBinary(saved); err != nil {
					t.Fatal(err)
				}
				h.Merge(&earlier)
				checkSize(t, h)
			}
		}
		now += every
	}
	for i, least := range []time.Duration{15 * time.Minute, 24 * time.Hour, time.Duration(now-300) * time.Second} {
		first, _ := h.tiers[i].first(&grains[i])
		kept := after(now).Sub(first)
		t.Logf("%v of points of %v", kept, grains[i].every)
		if kept < least {
			t.Errorf("%v of points of %v, want %v", kept, grains[i].every, least)
		}
	}
	points := all(h)
	for i := range points[1:] {
		if points[i+1].At.Before(points[i].At.Add(points[i].Every)) {
			t.Fatalf("%v after %v: they overlap", points[i+1].At, points[i].At)
		}
	}
}

// TestHighLoads: no decoded load exceeds the maximum of a decision, or is infinite.
func TestHighLoads(t *testing.T) {
	var h History
	for second, load := range []float64{math.MaxInt32, math.MaxFloat64, 1} {
		h.Add(after(second), Point{Load: load})
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var read History
	if err := read.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	for _, p := range all(&read) {
		if math.Abs(p.Load/mostLoad-1) > 0.011 || p.Load > mostLoad {
			t.Errorf("%+v, want a load of %d", p, mostLoad)
		}
	}
	if n := len(all(&read)); n != 2 {
		t.Errorf("%d points, want 2", n)
	}
	for _, code := range []uint16{codeOf(1), mostCode, mostCode + 1, 40000, math.MaxUint16} {
		s := slot{first: 1}
		end := coderAt(1)
		s.append(&end, 1, &values{load: codeOf(1)})
		// Only the load changes.
		to := stream{data: s.data[:], at: int(s.used), end: 8 * slotBytes}
		end.codeChanges(&to, 0)
		end.loads.code(&to, signed(int64(code)-int64(end.known)))
		s.used = uint16(to.at)
		if _, isFine := s.last(); isFine != (code <= mostCode) {
			t.Errorf("whether a load with the code %d is read: %v", code, isFine)
		}
	}
}

func TestClockThatJumps(t *testing.T) {
	point := Point{Load: 3, Wanted: 3, Ready: 3}
	var h History
	for second := range 3600 {
		h.Add(after(second), point)
	}
	h.Add(after(400*86400), point)
	h.Add(after(3590), point) // stray moments change nothing
	for second := 3600; second < 7200; second++ {
		h.Add(after(second), point)
	}
	points := all(&h)
	last := points[len(points)-1]
	if last.At.After(after(7200)) || last.At.Before(after(7190)) || !points[0].At.Equal(begin) {
		t.Errorf("from %v to %v", points[0].At, last.At)
	}
	for i := range points[1:] {
		if points[i+1].At.Before(points[i].At.Add(points[i].Every)) {
			t.Fatalf("%v after %v: they overlap", points[i+1].At, points[i].At)
		}
	}
}

func TestBounds(t *testing.T) {
	var h History
	for second := range 3600 {
		h.Add(after(second), Point{Load: 1, Wanted: 1})
	}
	n := 0
	h.Points(after(1200), after(1800), func(p Point) bool {
		if p.At.Before(after(1200)) || !p.At.Before(after(1800)) {
			t.Errorf("%v", p.At)
		}
		n++
		return n < 5
	})
	if n != 5 {
		t.Errorf("%d points, want no more after 5", n)
	}
}

// TestOtherVersion: the encoding of another version is refused.
func TestOtherVersion(t *testing.T) {
	var h History
	for second := range 3600 {
		h.Add(after(second), Point{Load: 1, Wanted: 1})
	}
	b, err := h.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []byte{0, version - 1, version + 1} {
		b[0] = other
		var read History
		if err := read.UnmarshalBinary(b); err == nil || !strings.Contains(err.Error(), "not in version") ||
			len(all(&read)) > 0 {
			t.Errorf("version %d: %v", other, err)
		}
	}
}

func FuzzUnmarshalBinary(f *testing.F) {
	var h History
	for second := range 5000 {
		h.Add(after(7*second), Point{Load: float64(second % 90), Wanted: int32(second / 50), Ready: 1, PerPodMilli: 5})
	}
	good, _ := h.AppendBinary(nil)
	f.Add(good)
	f.Add([]byte{version, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again History
		if h.UnmarshalBinary(b) != nil {
			return
		}
		points := len(all(&h))
		written, err := h.AppendBinary(nil)
		if err != nil || again.UnmarshalBinary(written) != nil || len(all(&again)) != points {
			t.Fatalf("what was read cannot be written and read again: %v", err)
		}
		for second := range 1000 {
			h.Add(after(second), Point{Load: 1})
		}
	})
}

func TestAllocatesNothing(t *testing.T) {
	var h History
	second := 0
	add := func() {
		h.Add(after(second), Point{Load: float64(second%100) / 7, Wanted: int32(second % 5), Ready: 4})
		second++
	}
	for range 20 * 86400 / 60 {
		second += 59
		add()
	}
	if n := testing.AllocsPerRun(10000, add); n != 0 {
		t.Errorf("%v allocations a point", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	var h History
	second := 0
	b.ReportAllocs()
	for b.Loop() {
		second++
		h.Add(after(second), Point{Load: float64(second%100) / 7, Wanted: int32(second / 90 % 5), Ready: 4})
	}
}

// TestDamaged reads histories with some bytes changed: each is refused, or can be gone on with.
func TestDamaged(t *testing.T) {
	var h History
	for second := range 5000 {
		h.Add(after(7*second), Point{Load: float64(second % 90), Wanted: int32(second / 50), Ready: 1, PerPodMilli: 5})
	}
	good, _ := h.AppendBinary(nil)
	rapid.Check(t, func(t *rapid.T) {
		b := append([]byte(nil), good...)
		for range rapid.IntRange(1, 5).Draw(t, "changes") {
			b[rapid.IntRange(0, len(b)-1).Draw(t, "place")] = rapid.Byte().Draw(t, "byte")
		}
		var read History
		if read.UnmarshalBinary(b[:len(b)-rapid.IntRange(0, 1).Draw(t, "cut")]) != nil {
			return
		}
		for second := range 100 {
			read.Add(after(36000+second), Point{Load: 1})
		}
		for _, p := range all(&read) {
			if p.Load < 0 || p.Load > mostLoad || p.Wanted < 0 || p.Ready < 0 || p.Limit >= limits {
				t.Fatalf("%+v", p)
			}
		}
	})
}

// TestYoung: an object's first minutes are shown second by second, also right after a minute or five of the clock have
// ended and became points of their own. Once seconds are dropped, minutes replace them.
func TestYoung(t *testing.T) {
	var h History
	began := time.Date(2026, 11, 25, 23, 54, 25, 0, time.UTC)
	for second := range 8 * 60 {
		at := began.Add(time.Duration(second) * time.Second)
		h.Add(at, Point{Load: 2, Wanted: 2, Ready: 2})
		if second < 2 {
			continue
		}
		if first, isAny := h.First(); !isAny || !first.Equal(began) {
			t.Fatalf("after %d s it begins at %s, want %s", second, first, began)
		}
	}
	h.Points(time.Time{}, began.Add(time.Hour), func(p Point) bool {
		if p.Every != time.Second {
			t.Errorf("a point of %s at %s", p.Every, p.At)
		}
		return true
	})
	for second := 8 * 60; second < 48*3600; second++ {
		h.Add(began.Add(time.Duration(second)*time.Second), Point{Load: float64(second % 97), Wanted: int32(second % 13)})
	}
	every := map[time.Duration]int{}
	h.Points(time.Time{}, began.Add(72*time.Hour), func(p Point) bool {
		every[p.Every]++
		return true
	})
	if every[time.Second] == 0 || every[time.Minute] == 0 || every[5*time.Minute] == 0 {
		t.Errorf("points by how long they are: %v", every)
	}
}
