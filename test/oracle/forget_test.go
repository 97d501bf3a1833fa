package oracle

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
)

// TestForgetting: an object that is made again inherits what its name has
// remembered, until the next decision would have been due. Timelines cannot show
// that, as nothing is due in them. With history-by-uid nothing is inherited.
func TestForgetting(t *testing.T) {
	const period = 15 * time.Second
	for _, tt := range []struct {
		name       string
		pause      time.Duration
		controller start
		want       []string
	}{
		{"upstream, soon", 3 * time.Second, upstream, []string{"5→10 <nil>"}},
		{"upstream, late", 3 * period, upstream, nil},
		{"Plimsoll as upstream, soon", 3 * time.Second, plimsoll(t, divergence.None), []string{"5→10 <nil>"}},
		{"Plimsoll as upstream, late", 3 * period, plimsoll(t, divergence.None), nil},
		{"Plimsoll, soon", 3 * time.Second, plimsoll(t, divergence.Default), nil},
		{"Plimsoll, late", 3 * period, plimsoll(t, divergence.Default), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.now, w.period = &Situation{}, period
				stop := tt.controller(t.Context(), w)
				pass(settle)
				first := queue(5, "10")
				w.show(first)
				w.touch(object, first)
				pass(settle)
				if got := w.result().Writes; !slices.Equal(got, []string{"5→10 <nil>"}) {
					t.Errorf("at first %q", got)
				}
				// Another client halves the count, and the HPA is deleted.
				second := queue(5, "2")
				w.show(second)
				w.remove(object)
				pass(tt.pause)
				w.touch(object, second)
				pass(settle)
				if got := w.result().Writes; !slices.Equal(got, tt.want) {
					t.Errorf("after %v: %q, want %q", tt.pause, got, tt.want)
				}
				stop()
			})
		})
	}
}

// queue is a target with a queue as long as the count that it needs. The spec has
// no behavior, so that a remembered recommendation shows at once.
func queue(count int32, length string) *Situation {
	name := "queue"
	target := autoscalingv2.MetricTarget{
		Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(1, resource.DecimalSI),
	}
	return &Situation{
		Spec: defaulted(autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: "v1", Kind: "ReplicationController", Name: "web",
			},
			MaxReplicas: 20,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType,
				External: &autoscalingv2.ExternalMetricSource{Metric: autoscalingv2.MetricIdentifier{Name: name}, Target: target}}},
		}),
		Scale: Scale{Kind: "ReplicationController", Spec: count, Status: count, Selector: "app=web"},
		Answers: Answers{External: map[string]*externalmetricsv1beta1.ExternalMetricValueList{
			name: {Items: []externalmetricsv1beta1.ExternalMetricValue{{MetricName: name, Value: resource.MustParse(length)}}},
		}},
	}
}
