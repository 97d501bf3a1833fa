package horizontaltest

import (
	"context"
	"strings"
	"sync/atomic"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	scaleclient "k8s.io/client-go/scale"
	"k8s.io/client-go/util/flowcontrol"
)

// CountedScales counts reads and writes of scales, and delays them; reads of some kinds never end.
type CountedScales struct {
	W               *World
	Gets, Puts      atomic.Int64
	Takes, PutTakes time.Duration
	Hung            string
	// IsDown makes reads fail.
	IsDown atomic.Bool
}

// Scales implements scale.ScalesGetter.
func (s *CountedScales) Scales(namespace string) scaleclient.ScaleInterface {
	return &countedScale{ScaleInterface: s.W.Scales(namespace), s: s}
}

type countedScale struct {
	scaleclient.ScaleInterface
	s *CountedScales
}

// Get implements scale.ScaleInterface.
func (s *countedScale) Get(
	ctx context.Context, r schema.GroupResource, name string, o metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	s.s.Gets.Add(1)
	if s.s.Hung != "" && strings.HasPrefix(name, s.s.Hung) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if s.s.IsDown.Load() {
		return nil, ErrServer
	}
	time.Sleep(s.s.Takes) // virtual time: duration of a GET
	return s.ScaleInterface.Get(ctx, r, name, o)
}

// Update implements scale.ScaleInterface.
func (s *countedScale) Update(
	ctx context.Context, r schema.GroupResource, scale *autoscalingv1.Scale, o metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	s.s.Puts.Add(1)
	time.Sleep(s.s.PutTakes) // virtual time: duration of a PUT
	return s.ScaleInterface.Update(ctx, r, scale, o)
}

// Custom sets a target of a kind that no cache has.
func Custom(hpa *autoscalingv2.HorizontalPodAutoscaler, version, kind string) *autoscalingv2.HorizontalPodAutoscaler {
	hpa.Spec.ScaleTargetRef.APIVersion, hpa.Spec.ScaleTargetRef.Kind = version, kind
	return hpa
}

// SlowMapper takes long to find that a kind does not exist.
type SlowMapper struct{ meta.RESTMapper }

// RESTMappings implements meta.RESTMapper.
func (m SlowMapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	if kind.Group == "example.com" {
		time.Sleep(15 * time.Second) // virtual time: discovery that hangs
		return nil, &meta.NoKindMatchError{GroupKind: kind}
	}
	return m.RESTMapper.RESTMappings(kind, versions...)
}

// Gate is a limiter that admits no call while it is shut.
type Gate struct {
	flowcontrol.RateLimiter
	Shut   chan struct{}
	Passed atomic.Int32
	// Waiting counts the calls that wait.
	Waiting atomic.Int32
}

// Wait implements flowcontrol.RateLimiter.
func (g *Gate) Wait(ctx context.Context) error {
	g.Waiting.Add(1)
	defer g.Waiting.Add(-1)
	select {
	case <-g.Shut:
		g.Passed.Add(1)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
