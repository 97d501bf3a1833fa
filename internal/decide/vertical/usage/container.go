package usage

import (
	"cmp"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// Container is the history of all containers of one name in a workload's pods. The zero value is empty. It is a value:
// methods with a pointer change the caller's copy, after Clone.
type Container struct {
	aggregate Aggregate
	// created is when the aggregate was created; 0 without one.
	created vertical.Stamp
	// firstMemory and lastMemory are the times of the first and last memory samples or out-of-memory kills.
	firstMemory, lastMemory vertical.Stamp
	// initial is the part from a checkpoint, which is separate, as upstream. With the divergence open-window the aggregate
	// continues it instead.
	initial *Aggregate
	// windows has those of the pods, sorted by pod.
	windows []window
	// retained has overrides that upstream never drops.
	retained *overrides
	// Changed is set if the checkpoint has changed.
	Changed bool
}

// window is the memory window of one container of one pod.
type window struct {
	pod     string
	lastCPU vertical.Stamp
	// end is the end of the interval that has one memory peak.
	end        vertical.Stamp
	lastMemory vertical.Stamp
	// peak is the measured peak of this interval, oomPeak that of an out-of-memory kill.
	peak, oomPeak vertical.Amount
	lastOOM       vertical.Stamp
}

func (w *window) highest() vertical.Amount { return max(w.peak, w.oomPeak) }

// Clone shares nothing with c that changes.
func (c *Container) Clone() Container {
	copied := *c
	copied.aggregate = c.aggregate.clone()
	copied.windows = slices.Clone(c.windows)
	return copied
}

// ApplyOverrides returns the policy with the object's overrides. Without the divergence reset-overrides, an override
// that was set while there was an aggregate applies until there is another.
func (c *Container) ApplyOverrides(p Policy, own vertical.ContainerPolicy) Policy {
	set := overrides{oom: own.OOM, memory: own.Memory}
	if p.has(divergence.ResetOverrides) {
		c.retained = nil
		return set.apply(p)
	}
	if c.retained != nil && !c.created.IsZero() {
		set = set.orElse(*c.retained)
	}
	c.retained = nil
	if set != (overrides{}) {
		c.retained = &set
	}
	return set.apply(p)
}

// RecordPresent records that there is such a container, with or without samples. Its policy is set after that.
func (c *Container) RecordPresent(now time.Time) {
	if c.created.IsZero() {
		c.created, c.retained = vertical.StampOf(now), nil
	}
}

// ensureCreated creates the aggregate for a sample, with the present policy.
func (c *Container) ensureCreated(now time.Time) {
	if c.created.IsZero() {
		c.created = vertical.StampOf(now)
	}
}

// Exists reports whether there is a history for a recommendation.
func (c *Container) Exists() bool { return !c.created.IsZero() || c.initial != nil }

// IsForgotten reports whether there is no history at all.
func (c *Container) IsForgotten() bool { return !c.Exists() && len(c.windows) == 0 }

// Sample is a container's use of a resource.
type Sample struct {
	Pod    string
	At     time.Time
	Amount vertical.Amount
}

// AddCPU adds a CPU sample, unless it is not newer than the last. now is when
// it is seen.
func (c *Container) AddCPU(p *Policy, s Sample, now time.Time) bool {
	w, at := c.window(s.Pod), vertical.StampOf(s.At)
	if s.Amount < 0 || !w.lastCPU.Before(at) {
		return false
	}
	w.lastCPU = at
	c.ensureCreated(now)
	c.aggregate.add(p, vertical.CPU, s.Amount, s.At)
	c.aggregate.count(at)
	c.Changed = true
	return true
}

// AddMemory adds a memory sample, unless it is older than the last.
func (c *Container) AddMemory(p *Policy, s Sample, now time.Time) bool {
	w := c.window(s.Pod)
	if s.Amount < 0 || vertical.StampOf(s.At).Before(w.lastMemory) {
		return false
	}
	c.ensureCreated(now)
	if c.addMemory(p, w, s) {
		w.peak = s.Amount
	}
	return true
}

// OOM is an out-of-memory kill of a container.
type OOM struct {
	Pod string
	At  time.Time
	// Request and Limit are the container's at that time; 0 means none.
	Request, Limit vertical.Amount
	// Standing is set for a kill in the status of a pod that is observed for the first time. Upstream acts on changes of
	// pods alone.
	Standing bool
}

// RecordOOM records an out-of-memory kill as a memory sample above the container's resources:
//
//	used   = max(request, peak of the window)
//	needed = max(used + least bump-up, used * bump-up ratio)
//
// With the divergence oom-limit, used is at least the limit that was hit.
func (c *Container) RecordOOM(p *Policy, o OOM, now time.Time) bool {
	w, at := c.window(o.Pod), vertical.StampOf(o.At)
	known := p.has(divergence.StartOOM) && !w.lastOOM.Before(at)
	if o.Standing && !p.has(divergence.StartOOM) || known {
		return false
	}
	c.ensureCreated(now)
	if !w.lastMemory.IsZero() && at.Before(w.lastMemory.Add(-p.Interval)) {
		return false
	}
	used := max(o.Request, w.peak)
	if p.has(divergence.OOMLimit) {
		used = max(used, o.Limit)
	}
	used = min(used, vertical.MaxAmount)
	needed := max(used+vertical.AmountOf(p.MinBumpUpBytes), used.Scale(p.BumpUpRatio))
	if c.addMemory(p, w, Sample{Pod: o.Pod, At: o.At, Amount: needed}) {
		w.oomPeak = needed
	}
	w.lastOOM = max(w.lastOOM, at)
	return true
}

// addMemory reports whether the sample is the window's new peak, and then subtracts the old one.
func (c *Container) addMemory(p *Policy, w *window, s Sample) bool {
	at := vertical.StampOf(s.At)
	w.lastMemory = at
	if w.end.IsZero() {
		w.end = at
	}
	c.lastMemory = max(c.lastMemory, at)
	if c.firstMemory.IsZero() {
		c.firstMemory = at
	}
	if at.Before(w.end) {
		old := w.highest()
		// Upstream treats a peak of 0 as none, and then no other replaces it.
		if s.Amount <= old || old == 0 && !p.has(divergence.ZeroMemory) {
			return false
		}
		c.aggregate.subtract(p, vertical.Memory, old, w.end.Time())
	} else {
		w.end = w.end.Add(at.Sub(w.end).Truncate(p.Interval) + p.Interval)
		w.peak, w.oomPeak = 0, 0
	}
	c.aggregate.add(p, vertical.Memory, s.Amount, w.end.Time())
	c.Changed = true
	return true
}

// window returns the pod's window, which it adds if needed.
func (c *Container) window(pod string) *window {
	i, found := slices.BinarySearchFunc(c.windows, pod, func(w window, pod string) int { return cmp.Compare(w.pod, pod) })
	if !found {
		c.windows = slices.Insert(c.windows, i, window{pod: pod})
	}
	return &c.windows[i]
}

// PruneWindows drops the windows of deleted pods. It keeps their use.
func (c *Container) PruneWindows(exists func(pod string) bool) {
	c.windows = slices.DeleteFunc(c.windows, func(w window) bool { return !exists(w.pod) })
}

// Expire drops an aggregate without samples: at once if no pod has such a container, otherwise after the policy's
// intervals. It never drops the separate part of a checkpoint.
func (c *Container) Expire(p *Policy, now time.Time, present bool) {
	if c.created.IsZero() {
		return
	}
	isEmpty, since := c.aggregate.samples == 0, c.aggregate.last
	if p.has(divergence.MemoryOnly) {
		memory := c.aggregate.use.Get(vertical.Memory)
		isEmpty, since = isEmpty && memory.IsEmpty(), max(since, c.lastMemory)
	}
	if isEmpty || since.IsZero() {
		since = c.created
	}
	if isEmpty && !present || now.Sub(since.Time()) >= p.window() {
		c.aggregate, c.created, c.firstMemory, c.lastMemory, c.retained = Aggregate{}, 0, 0, 0, nil
	}
}

// Newest returns the time of the last sample, zero without any.
func (c *Container) Newest() vertical.Stamp { return max(c.aggregate.last, c.lastMemory) }

// DropInitial drops the separate part of a checkpoint, as upstream does when it cannot look
// up the target.
func (c *Container) DropInitial() { c.initial = nil }

// AlignInitial moves the separate part of a checkpoint to the references of later samples. Upstream does this
// implicitly when it merges both; buckets that no longer count after that are lost, even when the aggregate is dropped.
func (c *Container) AlignInitial(p *Policy) {
	if c.initial == nil || c.created.IsZero() {
		return
	}
	aligned := c.initial.clone()
	for r := range vertical.Resource(vertical.Resources) {
		h, since := aligned.use.Get(r), c.aggregate.use.Get(r)
		h.Align(p.shape(r), &since)
		aligned.use.Put(r, h)
	}
	c.initial = &aligned
}

// Merged returns the whole history of use. The caller must not change it.
func (c *Container) Merged(p *Policy) *Aggregate {
	if c.initial == nil {
		return &c.aggregate
	}
	var merged Aggregate
	if !c.created.IsZero() {
		merged.merge(p, &c.aggregate)
	}
	merged.merge(p, c.initial)
	return &merged
}

// Confidence returns that of the aggregate. With the divergence memory-only, one without CPU samples uses the times of
// its memory samples.
func (c *Container) Confidence(p *Policy, a *Aggregate, interval time.Duration) float64 {
	if a.samples == 0 && p.has(divergence.MemoryOnly) {
		return float64(c.lastMemory.Sub(c.firstMemory)) / float64(interval)
	}
	return a.Confidence(interval)
}
