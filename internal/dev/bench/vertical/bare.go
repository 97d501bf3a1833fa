package vertical

import (
	"context"
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/report"
)

// bareRun has the numbers of a client that only evicts.
type bareRun struct{ perSecond, serverCPUPerPod float64 }

// Bare has the numbers of a client that only evicts, with as many calls under way as Plimsoll has: no subject can be
// faster on this machine.
type Bare struct {
	PerSecond report.Spread `json:"evictionsPerSecond"`
	// ServerCPU is the API server's CPU for each.
	ServerCPU report.Spread `json:"apiServerCPUSecondsPerPod"`
}

func bareOf(runs []bareRun) Bare {
	rates, seconds := make([]float64, len(runs)), make([]float64, len(runs))
	for i, run := range runs {
		rates[i], seconds[i] = run.perSecond, run.serverCPUPerPod
	}
	return Bare{PerSecond: report.Of(rates...), ServerCPU: report.Of(seconds...)}
}

// bare evicts as many pods as a subject may.
func (b *bench) bare(ctx context.Context) (r bareRun, err error) {
	b.cluster.StopControllerManager(ctx)
	before, err := b.serverCPU(ctx)
	if err != nil {
		return r, err
	}
	took, count, err := b.crowd.evict(ctx)
	if err != nil {
		return r, err
	}
	after, err := b.serverCPU(ctx)
	if err != nil {
		return r, err
	}
	if err := b.cluster.RestartControllerManager(ctx, controllerManagerFlags()...); err != nil {
		return r, err
	}
	r = bareRun{float64(count) / took.Seconds(), (after - before) / float64(count)}
	b.progress.Say("a client that does nothing else evicts %s pods a second", report.Number(r.perSecond))
	return r, b.awaitPods(ctx)
}

// evict evicts half of each workload's pods.
func (c *crowd) evict(ctx context.Context) (took time.Duration, count int, err error) {
	list, err := c.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return 0, 0, fmt.Errorf("list the pods: %w", err)
	}
	chosen := map[string]int{}
	var evictions []*policyv1.Eviction
	for i := range list.Items {
		pod := &list.Items[i]
		workload := pod.Namespace + "/" + pod.Labels[appLabel]
		if pod.DeletionTimestamp != nil || chosen[workload] == c.pods/2 {
			continue
		}
		chosen[workload]++
		evictions = append(evictions,
			&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
	}
	began := time.Now()
	err = each(ctx, len(evictions), func(ctx context.Context, n int) error {
		return c.client.CoreV1().Pods(evictions[n].Namespace).EvictV1(ctx, evictions[n])
	})
	if err != nil {
		return 0, 0, fmt.Errorf("evict a pod: %w", err)
	}
	return time.Since(began), len(evictions), nil
}
