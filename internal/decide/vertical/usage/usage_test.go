package usage

import (
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
)

const (
	day = 24 * time.Hour
	mib = vertical.Amount(1 << 20)
)

var began = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

func with(on divergence.Set) *Policy {
	p := DefaultPolicy()
	p.Divergences = on
	return &p
}

func at(pod string, after time.Duration, amount vertical.Amount) Sample {
	return Sample{Pod: pod, At: began.Add(after), Amount: amount}
}

// peak returns the highest memory peak, as the start of the bucket after it.
func peak(t *testing.T, p *Policy, c *Container) vertical.Amount {
	t.Helper()
	highest, _ := c.Merged(p).Percentile(p, vertical.Memory, 1)
	return highest
}

// above returns the start of the bucket after that amount of memory.
func above(amount vertical.Amount) vertical.Amount {
	s := histogram.ShapeOf(vertical.Memory, day)
	return vertical.AmountOf(s.Start(s.Find(float64(amount)) + 1))
}

// A container with 20 filled buckets takes at most 300 bytes, with any division between CPU and memory. Upstream's
// takes 2,944.
func TestSize(t *testing.T) {
	p, shape := DefaultPolicy(), [vertical.Resources]histogram.Shape{}
	for r := range vertical.Resource(vertical.Resources) {
		shape[r] = histogram.ShapeOf(r, day)
	}
	most := 0.0
	for inCPU := range uint64(21) {
		const containers = 10_000
		all := make([]Aggregate, containers)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := range all {
			a := &all[i]
			for n := range uint64(20) {
				r, bucket := vertical.CPU, 40+3*n // every third bucket is filled
				if n >= inCPU {
					r = vertical.Memory
				}
				a.add(&p, r, vertical.AmountOf(shape[r].Start(bucket)*1.01*units[r]), began)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		for r, want := range [vertical.Resources]uint64{inCPU, 20 - inCPU} {
			if h := all[7].use.Get(vertical.Resource(r)); uint64(h.Filled()) != want {
				t.Fatalf("%d buckets of %s, want %d", h.Filled(), vertical.Resource(r), want)
			}
		}
		heap := float64(after.HeapAlloc-before.HeapAlloc) / containers
		got := heap + float64(reflect.TypeFor[Aggregate]().Size()) // which every aggregate has
		if got > 300 || heap < 20*8 {
			t.Errorf("%d buckets of CPU and %d of memory take %.0f bytes", inCPU, 20-inCPU, got)
		}
		most = max(most, got)
		runtime.KeepAlive(all)
	}
	t.Logf("at most %.0f bytes", most)
}

// A CPU sample that is not newer than the last of its container is ignored.
func TestCPU(t *testing.T) {
	var c Container
	p := with(divergence.None)
	for i, s := range []struct {
		Sample
		taken bool
		why   string
	}{
		{at("a", 0, 100), true, "the first"},
		{at("a", 0, 100), false, "the same once more"},
		{at("a", -time.Minute, 100), false, "an older one"},
		{at("b", -time.Minute, 100), true, "another pod's"},
		{at("a", time.Minute, -1), false, "a negative one"},
		{at("a", time.Hour, 0), true, "none used"},
	} {
		if got := c.AddCPU(p, s.Sample, began); got != s.taken {
			t.Errorf("sample %d, %s: taken is %v", i, s.why, got)
		}
	}
	a := c.Merged(p)
	if a.Samples() != 3 || !a.first.Time().Equal(began.Add(-time.Minute)) || !a.last.Time().Equal(began.Add(time.Hour)) {
		t.Errorf("%d samples from %s to %s", a.Samples(), a.first.Time(), a.last.Time())
	}
	if got, want := a.Confidence(day), 3/(24*60.0); got != want {
		t.Errorf("confidence %v, want that of three samples: %v", got, want)
	}
}

// Only the peak of an interval is stored.
func TestMemoryWindow(t *testing.T) {
	var c Container
	p := with(divergence.None)
	for _, s := range []struct {
		after  time.Duration
		amount vertical.Amount
		want   int // the number of peaks
	}{{0, 100 * mib, 1}, {time.Minute, 50 * mib, 1}, {2 * time.Minute, 300 * mib, 1}, {23 * time.Hour, 299 * mib, 1},
		{25 * time.Hour, 200 * mib, 2}} {
		c.AddMemory(p, at("a", s.after, s.amount), began)
		h := c.aggregate.use.Get(vertical.Memory)
		if h.Filled() != s.want {
			t.Errorf("after %s there are %d peaks, want %d", s.after, h.Filled(), s.want)
		}
	}
	if got, want := peak(t, p, &c), above(300*mib); got != want {
		t.Errorf("the peak is %d, want %d", got, want)
	}
	if got := c.windows[0].end.Time(); !got.Equal(began.Add(48 * time.Hour)) {
		t.Errorf("the second window ends at %s", got)
	}
	if c.AddMemory(p, at("a", 0, mib), began) {
		t.Error("a sample older than the last was taken")
	}
}

func TestZeroMemory(t *testing.T) {
	for on, want := range map[divergence.Set]vertical.Amount{
		divergence.None:       above(0), // after a first sample of 0, no other counts
		divergence.ZeroMemory: above(300 * mib),
	} {
		var c Container
		c.AddMemory(with(on), at("a", 0, 0), began)
		c.AddMemory(with(on), at("a", time.Minute, 300*mib), began)
		if got := peak(t, with(on), &c); got != want {
			t.Errorf("with %s the peak is %d, want %d", on, got, want)
		}
	}
}

func TestOOM(t *testing.T) {
	for why, c := range map[string]struct {
		on       divergence.Set
		samples  []Sample
		ooms     []OOM
		want     vertical.Amount // the highest peak
		refused  int
		override vertical.OOMPolicy
	}{
		"from the request, by the least": {
			ooms: []OOM{{Request: 200 * mib}}, want: 300 * mib,
		},
		"from the request, by the ratio": {
			ooms: []OOM{{Request: 1000 * mib}}, want: 1200 * mib,
		},
		"from the peak of this interval, if that is higher": {
			samples: []Sample{at("a", -time.Hour, 900*mib)}, ooms: []OOM{{Request: 200 * mib}}, want: 1080 * mib,
		},
		"not from the last OOM: no running away": {
			ooms: []OOM{{Request: 200 * mib}, {At: began.Add(time.Minute), Request: 200 * mib}}, want: 300 * mib,
		},
		"the limit does not count with upstream": {
			ooms: []OOM{{Request: 200 * mib, Limit: 800 * mib}}, want: 300 * mib,
		},
		"it was the limit that was hit": {
			on: divergence.OOMLimit, ooms: []OOM{{Request: 200 * mib, Limit: 800 * mib}}, want: 960 * mib,
		},
		"what a new pod's status says is nothing to upstream": {
			ooms: []OOM{{Request: 200 * mib, Standing: true}}, refused: 1,
		},
		"a pod that never gave a sample": {
			on: divergence.StartOOM, ooms: []OOM{{Request: 200 * mib, Standing: true}}, want: 300 * mib,
		},
		"one that was seen already": {
			on: divergence.StartOOM, ooms: []OOM{{Request: 200 * mib}, {Request: 900 * mib, Standing: true}}, want: 300 * mib,
			refused: 1,
		},
		"too old": {
			samples: []Sample{at("a", 0, 100*mib)}, ooms: []OOM{{At: began.Add(-25 * time.Hour), Request: 500 * mib}},
			want: 100 * mib, refused: 1,
		},
		"before the last sample, but not long": {
			samples: []Sample{at("a", 0, 100*mib)}, ooms: []OOM{{At: began.Add(-23 * time.Hour), Request: 500 * mib}},
			want: 600 * mib,
		},
		"as the owner overrides it": {
			ooms: []OOM{{Request: 200 * mib}}, override: vertical.OOMPolicy{BumpUpRatio: 4, HasMinBumpUp: true}, want: 800 * mib,
		},
	} {
		var container Container
		p := container.ApplyOverrides(*with(c.on), vertical.ContainerPolicy{OOM: c.override})
		for _, s := range c.samples {
			container.AddMemory(&p, s, began)
		}
		refused := 0
		for _, o := range c.ooms {
			o.Pod = "a"
			if o.At.IsZero() {
				o.At = began
			}
			if !container.RecordOOM(&p, o, began) {
				refused++
			}
		}
		want := vertical.Amount(0)
		if c.want > 0 {
			want = above(c.want)
		}
		if got := peak(t, &p, &container); got != want || refused != c.refused {
			t.Errorf("%s: the peak is %d, want %d; %d refused, want %d", why, got, want, refused, c.refused)
		}
	}
}

func TestRemovedOverrides(t *testing.T) {
	own := vertical.ContainerPolicy{
		OOM: vertical.OOMPolicy{BumpUpRatio: 3}, Memory: vertical.MemoryPolicy{Interval: time.Hour},
	}
	for on, want := range map[divergence.Set]float64{divergence.None: 3, divergence.ResetOverrides: 1.2} {
		var c Container
		c.RecordPresent(began)
		if p := c.ApplyOverrides(*with(on), own); p.BumpUpRatio != 3 || p.Interval != time.Hour || p.Count != 8 {
			t.Errorf("overridden, the policy is %+v", p)
		}
		if p := c.ApplyOverrides(*with(on), vertical.ContainerPolicy{}); p.BumpUpRatio != want {
			t.Errorf("with %s the ratio stays %v, want %v", on, p.BumpUpRatio, want)
		}
	}
}

func TestExpire(t *testing.T) {
	used := func(p *Policy) Container {
		var c Container
		c.AddCPU(p, at("a", 0, 100), began)
		return c
	}
	memoryOnly := func(p *Policy) Container {
		var c Container
		c.AddMemory(p, at("a", 7*day, 100*mib), began)
		return c
	}
	unused := func(*Policy) Container {
		var c Container
		c.RecordPresent(began)
		return c
	}
	for why, c := range map[string]struct {
		of      func(*Policy) Container
		on      divergence.Set
		after   time.Duration
		present bool
		exists  bool
	}{
		"within eight days":                      {used, divergence.None, 8*day - 1, false, true},
		"after eight days":                       {used, divergence.None, 8 * day, true, false},
		"without samples and pods":               {unused, divergence.None, 0, false, false},
		"without samples, with a pod":            {unused, divergence.None, 8*day - 1, true, true},
		"without samples for eight days":         {unused, divergence.None, 8 * day, true, false},
		"with memory samples alone, upstream":    {memoryOnly, divergence.None, 8 * day, false, false},
		"with memory samples alone":              {memoryOnly, divergence.MemoryOnly, 8 * day, false, true},
		"with old memory samples alone":          {memoryOnly, divergence.MemoryOnly, 15 * day, true, false},
		"with memory samples alone and no pods":  {memoryOnly, divergence.MemoryOnly, 7 * day, false, true},
		"with memory samples and a pod upstream": {memoryOnly, divergence.None, 7 * day, true, true},
	} {
		p := with(c.on)
		container := c.of(p)
		container.Expire(p, began.Add(c.after), c.present)
		if got := container.Exists(); got != c.exists {
			t.Errorf("%s: exists is %v, want %v", why, got, c.exists)
		}
	}
}

// A policy may have more intervals than time.Duration can express.
func TestExpireNever(t *testing.T) {
	var c Container
	p := c.ApplyOverrides(*with(divergence.None), vertical.ContainerPolicy{Memory: vertical.MemoryPolicy{Count: 1 << 62}})
	c.AddCPU(&p, at("a", 0, 100), began)
	c.Expire(&p, began.Add(100*day), false)
	if !c.Exists() {
		t.Error("forgotten")
	}
}

// A window that is open during a restart continues: its peak is replaced, not added to.
func TestRestart(t *testing.T) {
	for on, want := range map[divergence.Set][2]vertical.Amount{
		divergence.None:       {0, above(200 * mib)}, // upstream forgets the OOM
		divergence.OpenWindow: {above(600 * mib), above(700 * mib)},
	} {
		p := with(on)
		var c Container
		c.AddCPU(p, at("a", 0, 100), began)
		c.AddMemory(p, at("a", 0, 100*mib), began)
		c.RecordOOM(p, OOM{Pod: "a", At: began.Add(time.Minute), Request: 500 * mib}, began)
		saved := c.Save(p, began.Add(time.Hour))
		if total := saved.Use[vertical.Memory].Total; total > 1e-6 {
			t.Errorf("with %s the open peak is saved where upstream would count it twice: %v", on, total)
		}
		restored, err := Restore(p, saved, began.Add(2*time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		if got := peak(t, p, &restored); got != want[0] {
			t.Errorf("with %s the peak after the restart is %d, want %d", on, got, want[0])
		}
		next := at("a", 3*time.Hour, 200*mib)
		if on == divergence.OpenWindow {
			next.Amount = 700 * mib
		}
		restored.AddMemory(p, next, began)
		if got := peak(t, p, &restored); got != want[1] {
			t.Errorf("with %s the next sample makes the peak %d, want %d", on, got, want[1])
		}
		h := restored.Merged(p).use
		if memory := h.Get(vertical.Memory); memory.Filled() != 1 {
			t.Errorf("with %s there are %d peaks of one window", on, memory.Filled())
		}
		if got := restored.Merged(p).Samples(); got != 1 {
			t.Errorf("with %s there are %d samples after the restart", on, got)
		}
	}
}

// After upstream has rewritten a checkpoint, the annotation does not belong to it.
func TestStaleOpenWindows(t *testing.T) {
	p := with(divergence.OpenWindow)
	var c Container
	c.AddCPU(p, at("a", 0, 100), began)
	c.AddMemory(p, at("a", 0, 100*mib), began)
	saved := c.Save(p, began)
	saved.Samples++
	restored, err := Restore(p, saved, began)
	if err != nil {
		t.Fatal(err)
	}
	if len(restored.windows) != 0 || peak(t, p, &restored) != 0 {
		t.Errorf("restored %+v", restored.windows)
	}
}

// Open windows of another version are ignored; the rest of the checkpoint is used.
func TestOpenWindowsOfAnotherVersion(t *testing.T) {
	p := with(divergence.OpenWindow)
	var c Container
	c.AddCPU(p, at("a", 0, 100), began)
	c.AddMemory(p, at("a", 0, 100*mib), began)
	for version, windows := range map[int]int{0: 0, 1: 1, 2: 0} {
		saved := c.Save(p, began)
		saved.Open.Version = version
		restored, err := Restore(p, saved, began)
		if err != nil {
			t.Fatal(err)
		}
		if len(restored.windows) != windows || restored.aggregate.samples != saved.Samples || saved.Samples == 0 {
			t.Errorf("version %d: %d windows, %d samples of %d", version, len(restored.windows), restored.aggregate.samples,
				saved.Samples)
		}
	}
}

func TestAnnotationIsBounded(t *testing.T) {
	p := with(divergence.OpenWindow)
	var c Container
	for i := range 2 * maxOpen {
		c.AddMemory(p, at(fmt.Sprintf("3d594650-3436-11e5-bf17-%012d", i), 0, vertical.Amount(i)*mib), began)
	}
	saved := c.Save(p, began)
	text, err := json.Marshal(saved.Open)
	if err != nil {
		t.Fatal(err)
	}
	if len(saved.Open.Windows) != maxOpen || len(text) > 150_000 {
		t.Errorf("%d windows in %d bytes", len(saved.Open.Windows), len(text))
	}
	if lowest := saved.Open.Windows[0].PeakBytes; lowest < maxOpen*mib {
		t.Errorf("a peak of %d is kept; the highest should be", lowest)
	}
}

func TestDamagedCheckpoints(t *testing.T) {
	p := with(divergence.Default)
	whole := func() Checkpoint {
		var c Container
		c.AddCPU(p, at("a", 0, 100), began)
		return c.Save(p, began)
	}
	for why, damage := range map[string]func(*Checkpoint){
		"fewer than no samples":       func(c *Checkpoint) { c.Samples = -1 },
		"last before first":           func(c *Checkpoint) { c.Last = c.First.Add(-time.Second) },
		"a sample of next year":       func(c *Checkpoint) { c.Last = began.Add(365 * day) },
		"a reference of next year":    func(c *Checkpoint) { c.Use[vertical.CPU].Reference = began.Add(365 * day) },
		"a bucket that is not":        func(c *Checkpoint) { c.Use[vertical.CPU].Weights[1000] = 1 },
		"weights without a reference": func(c *Checkpoint) { c.Use[vertical.CPU].Reference = time.Time{} },
	} {
		c := whole()
		damage(&c)
		if restored, err := Restore(p, c, began); err == nil || restored.Exists() {
			t.Errorf("%s: restored, %v", why, err)
		}
	}
	if _, err := Restore(p, whole(), began); err != nil {
		t.Errorf("a whole one is refused: %v", err)
	}
}

func TestCloneIsApart(t *testing.T) {
	p := with(divergence.Default)
	var c Container
	c.AddCPU(p, at("a", 0, 100), began)
	c.AddMemory(p, at("a", 0, 100*mib), began)
	before := c.Save(p, began)
	clone := c.Clone()
	clone.AddCPU(p, at("a", time.Hour, 9000), began)
	clone.AddMemory(p, at("a", time.Hour, 900*mib), began)
	clone.PruneWindows(func(string) bool { return false })
	if diff := cmp.Diff(before, c.Save(p, began)); diff != "" {
		t.Errorf("a change of the copy changed the original:\n%s", diff)
	}
}

// With any number of samples and pods, the memory is bounded by the buckets and the existing pods.
func TestBounded(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := with(divergence.Set(rapid.Uint64Range(0, uint64(divergence.Default)).Draw(r, "divergences")))
		var c Container
		now := began
		for range rapid.IntRange(1, 200).Draw(r, "samples") {
			now = now.Add(time.Duration(rapid.IntRange(0, 100_000).Draw(r, "seconds")) * time.Second)
			pod := fmt.Sprint(rapid.IntRange(0, 3).Draw(r, "pod"))
			amount := vertical.Amount(rapid.Int64Range(-1, 1<<50).Draw(r, "amount"))
			switch rapid.IntRange(0, 3).Draw(r, "kind") {
			case 0:
				c.AddCPU(p, Sample{pod, now, amount}, now)
			case 1:
				c.AddMemory(p, Sample{pod, now, amount}, now)
			case 2:
				c.RecordOOM(p, OOM{Pod: pod, At: now, Request: amount, Limit: 2 * amount}, now)
			case 3:
				c.PruneWindows(func(name string) bool { return name != pod })
			}
		}
		if len(c.windows) > 4 {
			r.Fatalf("%d windows of 4 pods", len(c.windows))
		}
		for resource := range vertical.Resource(vertical.Resources) {
			h := c.aggregate.use.Get(resource)
			if h.Filled() > histogram.Buckets {
				r.Fatalf("%d buckets", h.Filled())
			}
			if high, _ := c.aggregate.Percentile(p, resource, 1); high < 0 || high > vertical.MaxAmount {
				r.Fatalf("a percentile of %d", high)
			}
		}
	})
}

func TestSummary(t *testing.T) {
	var a Summary
	if _, _, ok := a.Take(vertical.CPU); ok {
		t.Error("a sample of nothing")
	}
	a.Add(vertical.CPU, 100, 10*time.Second, began)
	a.Add(vertical.CPU, 100, 10*time.Second, began) // seen twice
	a.Add(vertical.CPU, 400, 20*time.Second, began.Add(20*time.Second))
	a.Add(vertical.CPU, -5, time.Second, began.Add(time.Minute))
	a.Add(vertical.Memory, 100, 0, began)
	a.Add(vertical.Memory, 300, 0, began.Add(time.Second))
	a.Add(vertical.Memory, 200, 0, began.Add(2*time.Second))
	if amount, at, ok := a.Take(vertical.CPU); !ok || amount != 300 || !at.Equal(began.Add(20*time.Second)) {
		t.Errorf("CPU is %d at %s", amount, at)
	}
	if amount, _, _ := a.Take(vertical.Memory); amount != 300 {
		t.Errorf("memory is %d, want the highest", amount)
	}
	a.Add(vertical.Memory, 50, 0, began.Add(time.Minute))
	if amount, _, _ := a.Take(vertical.Memory); amount != 50 {
		t.Errorf("memory is %d in the next interval, want its own", amount)
	}
	if _, _, ok := a.Take(vertical.CPU); ok {
		t.Error("taken twice")
	}
	a.Add(vertical.CPU, 100, time.Second, began)
	if _, _, ok := a.Take(vertical.CPU); ok {
		t.Error("an old sample was added again")
	}
}

// Scraping four times as often leads to the same percentiles.
func TestFasterScrapingMovesNothing(t *testing.T) {
	p := with(divergence.Default)
	var slow, fast Container
	for minute := range 600 {
		var summary Summary
		mean := vertical.Amount(0)
		for quarter := range 4 {
			amount := vertical.Amount(100 + minute%7*50 + quarter*40)
			mean += amount / 4
			summary.Add(vertical.CPU, amount, 15*time.Second, began.Add(time.Duration(minute*60+quarter*15+15)*time.Second))
		}
		end := time.Duration(minute+1) * time.Minute
		slow.AddCPU(p, at("a", end, mean), began)
		amount, when, _ := summary.Take(vertical.CPU)
		fast.AddCPU(p, Sample{"a", when, amount}, began)
	}
	for _, share := range []float64{0.5, 0.9, 0.95} {
		x, _ := slow.Merged(p).Percentile(p, vertical.CPU, share)
		y, _ := fast.Merged(p).Percentile(p, vertical.CPU, share)
		if x != y {
			t.Errorf("percentile %v is %d, scraped faster %d", share, x, y)
		}
	}
}
