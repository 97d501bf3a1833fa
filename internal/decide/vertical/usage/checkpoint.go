package usage

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
)

// Version is upstream's version of checkpoints, the only one supported.
const Version = "v3"

// maxOpen is the largest number of open windows in a checkpoint, those with the highest peaks: an annotation must not
// grow with the number of pods. A restart loses the other peaks, as upstream loses them all.
const maxOpen = 500

// longestInterval is the longest interval that the object may have set when the checkpoint was saved.
const longestInterval = 31 * 24 * time.Hour

// Checkpoint is the saved history of a container. Everything except Open is upstream's version v3.
type Checkpoint struct {
	Use         [vertical.Resources]histogram.Checkpoint
	First, Last time.Time
	Samples     int
	// Open is stored in an annotation; nil without the divergence open-window, and in upstream's checkpoints.
	Open *Open
}

// Open has the windows that were open when a checkpoint was saved. The weights do not include their peaks.
type Open struct {
	// Version is 1.
	Version int `json:"version"`
	// Samples and Weight equal the checkpoint's, unless another program has overwritten it: then the annotation does not
	// belong to it.
	Samples int     `json:"samples"`
	Weight  float64 `json:"weight"`
	// FirstMemory and LastMemory are the times of the first and last memory samples.
	FirstMemory time.Time `json:"firstMemory,omitzero"`
	LastMemory  time.Time `json:"lastMemory,omitzero"`
	Windows     []Window  `json:"windows,omitempty"`
}

// Window is the open memory window of one pod.
type Window struct {
	Pod string    `json:"pod"`
	End time.Time `json:"end"`
	// PeakBytes is a measured peak, OOMPeakBytes that of an out-of-memory kill.
	PeakBytes    vertical.Amount `json:"peakBytes,omitempty"`
	OOMPeakBytes vertical.Amount `json:"oomPeakBytes,omitempty"`
	LastMemory   time.Time       `json:"lastMemory,omitzero"`
	LastCPU      time.Time       `json:"lastCPU,omitzero"`
	LastOOM      time.Time       `json:"lastOOM,omitzero"`
}

// Save returns the container's checkpoint. Its weights exclude peaks of open windows: the interval may have a higher
// one after the restart.
func (c *Container) Save(p *Policy, now time.Time) Checkpoint {
	a := *c.Merged(p)
	a.use = a.use.Clone()
	open := &Open{Version: 1, FirstMemory: c.firstMemory.Time(), LastMemory: c.lastMemory.Time()}
	for i := range c.windows {
		w := &c.windows[i]
		if vertical.StampOf(now).Before(w.end) {
			a.subtract(p, vertical.Memory, w.highest(), w.end.Time())
			open.Windows = append(open.Windows, w.save())
		}
	}
	saved := Checkpoint{First: a.first.Time(), Last: a.last.Time(), Samples: a.samples}
	for r := range vertical.Resource(vertical.Resources) {
		h := a.use.Get(r)
		saved.Use[r] = h.Save()
	}
	if p.has(divergence.OpenWindow) {
		open.Samples, open.Weight = saved.Samples, saved.Use[vertical.Memory].Total
		open.limit()
		saved.Open = open
	}
	return saved
}

func (w *window) save() Window {
	return Window{
		Pod: w.pod, End: w.end.Time(), PeakBytes: w.peak, OOMPeakBytes: w.oomPeak,
		LastMemory: w.lastMemory.Time(), LastCPU: w.lastCPU.Time(), LastOOM: w.lastOOM.Time(),
	}
}

func (o *Open) limit() {
	if len(o.Windows) <= maxOpen {
		return
	}
	highest := func(w Window) vertical.Amount { return max(w.PeakBytes, w.OOMPeakBytes) }
	slices.SortStableFunc(o.Windows, func(a, b Window) int { return cmp.Compare(highest(b), highest(a)) })
	o.Windows = o.Windows[:maxOpen:maxOpen]
	slices.SortFunc(o.Windows, func(a, b Window) int { return cmp.Compare(a.Pod, b.Pod) })
}

// Restore returns the container of a checkpoint. It returns an error for one that no recommender can have saved.
func Restore(p *Policy, saved Checkpoint, now time.Time) (Container, error) {
	if err := saved.check(p, now); err != nil {
		return Container{}, err
	}
	a := Aggregate{first: vertical.StampOf(saved.First), last: vertical.StampOf(saved.Last), samples: saved.Samples}
	for r := range vertical.Resource(vertical.Resources) {
		h, err := histogram.Load(saved.Use[r])
		if err != nil {
			return Container{}, fmt.Errorf("%s histogram: %w", r, err)
		}
		a.use.Put(r, h)
	}
	if !p.has(divergence.OpenWindow) {
		return Container{initial: &a}, nil
	}
	c := Container{aggregate: a, created: vertical.StampOf(now)}
	if saved.Open != nil && saved.Open.belongsTo(&saved) {
		c.reopen(p, saved.Open, now)
	}
	return c, nil
}

func (o *Open) belongsTo(c *Checkpoint) bool {
	return o.Version == 1 && o.Samples == c.Samples && o.Weight == c.Use[vertical.Memory].Total
}

func (c *Container) reopen(p *Policy, o *Open, now time.Time) {
	c.firstMemory, c.lastMemory = vertical.StampOf(o.FirstMemory), vertical.StampOf(o.LastMemory)
	for i := range o.Windows {
		saved := &o.Windows[i]
		if saved.PeakBytes < 0 || saved.OOMPeakBytes < 0 || saved.End.After(now.Add(2*max(p.Interval, longestInterval))) {
			continue
		}
		w := c.window(saved.Pod)
		*w = window{
			pod: saved.Pod, end: vertical.StampOf(saved.End), peak: saved.PeakBytes, oomPeak: saved.OOMPeakBytes,
			lastMemory: vertical.StampOf(saved.LastMemory), lastCPU: vertical.StampOf(saved.LastCPU),
			lastOOM: vertical.StampOf(saved.LastOOM),
		}
		c.aggregate.add(p, vertical.Memory, w.highest(), saved.End)
	}
}

// check returns an error for values that no recommender saves: upstream would load them, and use them for days.
func (c *Checkpoint) check(p *Policy, now time.Time) error {
	switch {
	case c.Samples < 0:
		return fmt.Errorf("%d samples", c.Samples)
	case c.Last.Before(c.First):
		return errors.New("the last sample is before the first")
	case c.Last.After(now.Add(p.Interval)):
		return errors.New("the last sample is in the future")
	}
	for r := range vertical.Resource(vertical.Resources) {
		// A memory peak's time is the end of its interval, and a reference is rounded up.
		if c.Use[r].Reference.After(now.Add(2*max(p.Interval, longestInterval) + p.HalfLife[r])) {
			return fmt.Errorf("the %s histogram's reference timestamp is in the future", r)
		}
	}
	return nil
}
