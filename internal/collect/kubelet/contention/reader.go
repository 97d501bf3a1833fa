package contention

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
)

// Path is what a Getter asks kubelets for.
const Path = "/metrics/cadvisor"

// atOnce is how many kubelets are asked at a time: an answer may be megabytes.
const atOnce = 4

// Getter asks one kubelet, as kubelet.Client does with Path in its options.
type Getter interface {
	Get(ctx context.Context, target kubelet.Target, dst []byte) ([]byte, error)
}

var _ Getter = (*kubelet.Client)(nil)

// Reader looks at nodes now and then. One goroutine uses it at a time.
type Reader struct {
	getter Getter
	meters map[string]*Meter
}

// NewReader has not looked yet.
func NewReader(getter Getter) (*Reader, error) {
	if getter == nil {
		return nil, errors.New("looking for contention takes a client of kubelets")
	}
	return &Reader{getter: getter, meters: map[string]*Meter{}}, nil
}

// Read looks at these nodes, and forgets others. Nodes that cannot be read are in the
// error, which says nothing against the shares of the rest.
func (r *Reader) Read(ctx context.Context, targets []kubelet.Target) (map[Key]Shares, error) {
	found, failures := make([]map[Key]Shares, len(targets)), make([]error, len(targets))
	meters := make(map[string]*Meter, len(targets))
	var asking errgroup.Group
	asking.SetLimit(atOnce)
	for i, target := range targets {
		meter := r.meters[target.Node]
		if meter == nil {
			meter = &Meter{}
		}
		meters[target.Node] = meter
		asking.Go(func() error {
			answer, err := r.getter.Get(ctx, target, nil)
			if err == nil {
				found[i], err = meter.Look(time.Now(), answer)
			}
			if err != nil {
				failures[i] = fmt.Errorf("contention on node %s: %w", target.Node, err)
			}
			return nil
		})
	}
	_ = asking.Wait() // each keeps its own error
	r.meters = meters
	all := map[Key]Shares{}
	for _, shares := range found {
		maps.Copy(all, shares)
	}
	return all, errors.Join(failures...)
}
