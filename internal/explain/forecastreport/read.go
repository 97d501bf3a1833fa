package forecastreport

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/plimsoll-dev/plimsoll/internal/collect/prometheushistory"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/forecast/replay"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/load"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// PastLoad is the source of the past load for the replay.
type PastLoad struct {
	// Prometheus is the source; nil to read the controller's record.
	Prometheus *prometheushistory.Client
	// Lasts is the length of the load.
	Lasts time.Duration
	// StartUp is the time from pods' creation to their readiness; 0 to measure it on the existing pods.
	StartUp time.Duration
}

// Cluster reads the object, its pods and its recorded load.
type Cluster interface {
	Autoscaler(ctx context.Context, object observe.Key) (observehorizontal.Autoscaler, error)
	Pods(ctx context.Context, autoscaler observehorizontal.Autoscaler) ([]*corev1.Pod, error)
	History(ctx context.Context, object observe.Key) (*loadhistory.History, loadreport.Source, error)
}

// Read returns the effect that a forecast of an object would have had in mode Active.
func Read(
	ctx context.Context, cluster Cluster, object observe.Key, from PastLoad, now time.Time,
) (*Report, error) {
	autoscaler, err := cluster.Autoscaler(ctx, object)
	if err != nil {
		return nil, err
	}
	policy, _, refusal := observehorizontal.PolicyOf(autoscaler, observehorizontal.DefaultOptions())
	if refusal.Reason != "" {
		return nil, fmt.Errorf("%s %s: %s", object.Kind, object.NamespacedName, refusal.Message)
	}
	found, err := cluster.Pods(ctx, autoscaler)
	if err != nil {
		return nil, err
	}
	pods := observe.PodsOf(found)
	past := Past{
		Object: object, Mode: policy.Forecast.Mode, IsModeDefault: !autoscaler.AsksForForecast(),
		Config: replay.Config{
			Settings: policy.Forecast, MinReplicas: policy.MinReplicas, MaxReplicas: policy.MaxReplicas,
			StartUp: from.StartUp, Tolerance: policy.Tolerance.Up,
		},
		IsStartUpGiven: from.StartUp > 0,
		HasSchedules:   policy.WorkloadAutoscaler != nil && len(policy.WorkloadAutoscaler.Schedules) > 0,
	}
	if !past.IsStartUpGiven {
		past.Config.StartUp = observe.StartUpOf(pods, now)
	}
	if from.Prometheus != nil {
		err = loadFromPrometheus(ctx, &past, from, loadOf{autoscaler: autoscaler, policy: &policy, pods: pods, now: now})
	} else {
		err = recordedLoad(ctx, cluster, &past, from.Lasts, now)
	}
	if err != nil {
		return nil, err
	}
	// If there are several metrics, CPU determines how much load a pod can carry.
	for i := range policy.Metrics {
		past.Load.Full = max(past.Load.Full, load.FullOf(&policy.Metrics[i]))
	}
	return New(past)
}

// loadOf identifies the load to read.
type loadOf struct {
	autoscaler observehorizontal.Autoscaler
	policy     *horizontal.Policy
	pods       []*observe.Pod
	now        time.Time
}

func loadFromPrometheus(ctx context.Context, past *Past, from PastLoad, of loadOf) error {
	ref := of.autoscaler.Target()
	q := prometheushistory.Query{
		Namespace: past.Object.Namespace, Kind: ref.Kind, Name: ref.Name, From: of.now.Add(-from.Lasts), To: of.now,
	}
	if err := q.SetMetric(of.policy.Metrics, of.pods); err != nil {
		return fmt.Errorf("%s %s: %w", past.Object.Kind, past.Object.NamespacedName, err)
	}
	series, err := from.Prometheus.Load(ctx, q)
	if err != nil {
		return err
	}
	past.Load = replay.Load{Start: series.Start, Pods: series.Pods, PerPodMilli: series.PerPodMilli}
	past.Source, past.OtherMetrics = "CPU use in Prometheus", len(of.policy.Metrics)-1
	return nil
}

func recordedLoad(
	ctx context.Context, cluster Cluster, past *Past, lasts time.Duration, now time.Time,
) error {
	h, source, err := cluster.History(ctx, past.Object)
	if err != nil {
		return fmt.Errorf("%w; with --prometheus-address, the load is read from Prometheus", err)
	}
	line, coarse := loadhistory.MinutesOf(h, now.Add(-lasts), now)
	past.Load = replay.Load{Start: line.Start, Pods: line.Loads(), PerPodMilli: line.PerPodMilli()}
	past.Source, past.Coarse = "recorded by Plimsoll, "+source.Text(now), coarse
	return nil
}
