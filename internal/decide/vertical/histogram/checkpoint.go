package histogram

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
)

// maxWeight is the weight of the heaviest bucket in a checkpoint.
const maxWeight = 10000

// Checkpoint is a histogram in upstream's version v3: less exact, and without light buckets.
type Checkpoint struct {
	Reference time.Time
	// Weights has the buckets' weights, scaled so that the heaviest is 10000.
	Weights map[int]uint32
	Total   float64
}

// Save returns the histogram's checkpoint.
func (h *Histogram) Save() Checkpoint {
	c := Checkpoint{Reference: h.reference.Time(), Weights: map[int]uint32{}, Total: h.total}
	heaviest := 0.0
	low, high := h.span()
	for i := low; i <= high; i++ {
		heaviest = max(heaviest, h.cells.weight(i))
	}
	ratio := maxWeight / heaviest
	var weights [Buckets]uint32
	for i := low; i <= high; i++ {
		weights[h.cells.bucket(i)] = uint32(math.Floor(float64(h.cells.weight(i)*ratio) + 0.5))
	}
	for bucket, weight := range weights {
		if weight > 0 {
			c.Weights[bucket] = weight
		}
	}
	return c
}

// Check returns an error for a checkpoint that no recommender can have saved.
func (c Checkpoint) Check() error {
	if math.IsNaN(c.Total) || math.IsInf(c.Total, 0) || c.Total < 0 {
		return fmt.Errorf("total weight is %v", c.Total)
	}
	for bucket := range c.Weights {
		if bucket < 0 || bucket >= Buckets {
			return fmt.Errorf("bucket %d does not exist: there are %d", bucket, Buckets)
		}
	}
	if len(c.Weights) > 0 && c.Reference.IsZero() {
		return errors.New("weights without a reference timestamp")
	}
	return nil
}

// Load returns the histogram of a checkpoint.
func Load(c Checkpoint) (Histogram, error) {
	if err := c.Check(); err != nil {
		return Histogram{}, err
	}
	h := Histogram{reference: vertical.StampOf(c.Reference)}
	var weights [Buckets]uint32
	sum := 0.0 // exact: small integers
	for bucket, weight := range c.Weights {
		weights[bucket] = weight
		sum += float64(weight)
	}
	if sum == 0 {
		return h, nil
	}
	ratio := c.Total / sum
	for bucket := uint64(0); bucket < Buckets; bucket++ {
		if weights[bucket] > 0 {
			h.plus(bucket, float64(weights[bucket])*ratio)
		}
	}
	h.total = c.Total
	return h, nil
}
