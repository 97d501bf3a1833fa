package sources

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/collect/externalscaler"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podendpoint"
	"github.com/plimsoll-dev/plimsoll/internal/collect/promquery"
	"github.com/plimsoll-dev/plimsoll/internal/controller/horizontal/readings/own"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// podSource is the source of PodEndpoint metrics as decisions use it.
type podSource struct {
	*podendpoint.Source
	nodes *nodes
}

var _ own.Pods = (*podSource)(nil)

// Run implements own.Pods.
func (p *podSource) Run(ctx context.Context, sampled func(own.PodSampled)) {
	p.nodes.start(ctx)
	p.Source.Run(ctx, podendpoint.Watch{Sampled: func(s podendpoint.Sampled) {
		sampled(own.PodSampled{Key: s.Key, At: s.At, Before: s.Before, Reporting: s.Reporting})
	}})
}

// NewView implements own.Pods.
func (p *podSource) NewView() own.View { return &podendpoint.View{} }

// Latest implements own.Pods.
func (p *podSource) Latest(now time.Time, q *own.PodQuery, v own.View) error {
	view, ok := v.(*podendpoint.View)
	if !ok {
		return fmt.Errorf("%T is a view of another source", v)
	}
	err := p.Source.Latest(now, (*podendpoint.Query)(q), view)
	if errors.Is(err, podendpoint.ErrStarting) {
		return own.ErrPending
	}
	return err
}

// promSource is the source of Prometheus metrics as decisions use it.
type promSource struct {
	*promquery.Source
	nodes *nodes
}

var _ own.Prometheus = (*promSource)(nil)

// Run implements own.Prometheus.
func (p *promSource) Run(ctx context.Context, sampled func(observe.Key)) {
	p.nodes.start(ctx)
	p.Source.Run(ctx, sampled)
}

// scalerSource is the source of ExternalScaler metrics as decisions use it.
type scalerSource struct {
	*externalscaler.Source
	nodes *nodes
}

var _ own.Scalers = (*scalerSource)(nil)

// Run implements own.Scalers.
func (s *scalerSource) Run(ctx context.Context, sampled, pushed func(observe.Key)) {
	s.nodes.start(ctx)
	s.Source.Run(ctx, sampled, pushed)
}
