package metric_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// targetless returns a metric without a target, as in an object that was never validated.
func targetless(t source.Type) source.Spec {
	s := averageOf(t, 1)
	s.Target = source.Target{}
	return s
}

func selectorless(s source.Spec) source.Spec {
	s.SelectorError = `"Near" is not a valid label selector operator`
	return s
}

func failing(s scene, reading metric.Reading) scene {
	s.reading = reading
	return s
}

// TestFailure compares with upstream's messages, event, condition and error
// (pkg/controller/podautoscaler/{horizontal,replica_calculator}.go and
// metrics/{client,utilization}.go, v1.37.1).
func TestFailure(t *testing.T) {
	down, empty := metric.Reading{Error: "boom"}, metric.Reading{Empty: true}
	container := utilization(50)
	container.Type, container.Container = source.ContainerResource, "app"
	usage := averageOf(source.Resource, 100)
	usage.Name = "cpu"
	noRequest := metric.Request{Missing: metric.ContainerWithoutRequest, Container: "sidecar"}

	for name, tt := range map[string]struct {
		reason string
		scene  scene
		want   source.Failure
	}{
		"resource, API down": {
			"the API's message comes after upstream's", failing(running(utilization(50), 1), down),
			source.Failure{
				Reason: "FailedGetResourceMetric",
				Message: "failed to get memory utilization: unable to get metrics for resource memory: unable to fetch metrics " +
					"from resource metrics API: boom",
				Error: "failed to get memory resource metric value: failed to get memory utilization: unable to get metrics for " +
					"resource memory: unable to fetch metrics from resource metrics API: boom",
			},
		},
		"resource average, empty": {
			"an empty list is an error, not zero", failing(running(usage, 1), empty),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get cpu usage: unable to get metrics for resource cpu: no metrics returned from resource metrics API",
				Error: "failed to get cpu resource metric value: failed to get cpu usage: unable to get metrics for resource " +
					"cpu: no metrics returned from resource metrics API",
			},
		},
		"container, API down": {
			"the error names the container, the message the resource", failing(running(container, 1), down),
			source.Failure{
				Reason: "FailedGetContainerResourceMetric",
				Message: "failed to get memory utilization: unable to get metrics for resource memory: unable to fetch metrics " +
					"from resource metrics API: boom",
				Error: "failed to get app container metric value: failed to get memory utilization: unable to get metrics for " +
					"resource memory: unable to fetch metrics from resource metrics API: boom",
			},
		},
		"no pods": {
			"asked after the API", running(utilization(50)),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: no pods returned by selector while calculating replica count",
				Error: "failed to get memory resource metric value: failed to get memory utilization: no pods returned by " +
					"selector while calculating replica count",
			},
		},
		"no sample of any pod": {
			"all pods missing: there is nothing to fill in from", running(utilization(50)).missing(1000).pending(1000),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: did not receive metrics for targeted pods (pods might be unready)",
				Error: "failed to get memory resource metric value: failed to get memory utilization: did not receive metrics " +
					"for targeted pods (pods might be unready)",
			},
		},
		"no sample, and a missing request": {
			"samples are asked before requests", running(utilization(50)).missing(1000).asking(0, noRequest),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: did not receive metrics for targeted pods (pods might be unready)",
				Error: "failed to get memory resource metric value: failed to get memory utilization: did not receive metrics " +
					"for targeted pods (pods might be unready)",
			},
		},
		"a container without a request": {
			"one bad pod fails the metric", running(utilization(50), 1, 1).asking(1, noRequest),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: missing request for memory in container sidecar of Pod b",
				Error: "failed to get memory resource metric value: failed to get memory utilization: missing request for " +
					"memory in container sidecar of Pod b",
			},
		},
		"a pod-level request for something else": {
			"pod-level requests count alone where there are some",
			running(utilization(50), 1).asking(0, metric.Request{Missing: metric.PodWithoutRequest}),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: missing pod-level request for memory in Pod a",
				Error: "failed to get memory resource metric value: failed to get memory utilization: missing pod-level " +
					"request for memory in Pod a",
			},
		},
		"a request that a claim adds to": {
			"use is no share of a part of what the pod has",
			running(utilization(50), 1, 1).asking(1, metric.Request{
				Missing: metric.RequestInClaim, Container: "app", Claim: "b-cores",
			}),
			source.Failure{
				Reason: "FailedGetResourceMetric",
				Message: "failed to get memory utilization: container app of Pod b has memory from ResourceClaim b-cores, which " +
					"is not in its request: use averageValue instead of averageUtilization",
				Error: "failed to get memory resource metric value: failed to get memory utilization: container app of Pod b " +
					"has memory from ResourceClaim b-cores, which is not in its request: use averageValue instead of " +
					"averageUtilization",
			},
		},
		"a claim of no container": {
			"a pod may have a claim that none of its containers names",
			running(utilization(50), 1).asking(0, metric.Request{Missing: metric.RequestInClaim, Claim: "a-cores"}),
			source.Failure{
				Reason: "FailedGetResourceMetric",
				Message: "failed to get memory utilization: Pod a has memory from ResourceClaim a-cores, which is not in its " +
					"request: use averageValue instead of averageUtilization",
				Error: "failed to get memory resource metric value: failed to get memory utilization: Pod a has memory from " +
					"ResourceClaim a-cores, which is not in its request: use averageValue instead of averageUtilization",
			},
		},
		"requests of zero": {
			"nothing to divide by", running(utilization(50), 1).asking(0, request(0)),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: no metrics returned matched known pods",
				Error: "failed to get memory resource metric value: failed to get memory utilization: no metrics returned " +
					"matched known pods",
			},
		},
		"only samples of unknown pods": {
			"there is a sample, but no request that belongs to it", running(utilization(50)).missing(1000).extraneous(5),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: no metrics returned matched known pods",
				Error: "failed to get memory resource metric value: failed to get memory utilization: no metrics returned " +
					"matched known pods",
			},
		},
		"requests that cancel out": {
			"filling in must not divide by zero, either", running(utilization(50), 100).missing(-1000),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: no metrics returned matched known pods",
				Error: "failed to get memory resource metric value: failed to get memory utilization: no metrics returned " +
					"matched known pods",
			},
		},
		"requests below zero": {
			"no use is a share of them", running(utilization(50), 100).asking(0, request(-1000)),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: no metrics returned matched known pods",
				Error: "failed to get memory resource metric value: failed to get memory utilization: no metrics returned " +
					"matched known pods",
			},
		},
		"requests that wrap to zero, upstream": {
			"4 × 2^62 is 0 in 64 bits",
			running(utilization(50), 1, 1, 1, 1).asking(0, request(1<<62)).asking(1, request(1<<62)).
				asking(2, request(1<<62)).asking(3, request(1<<62)).with(divergence.None),
			source.Failure{
				Reason:  "FailedGetResourceMetric",
				Message: "failed to get memory utilization: no metrics returned matched known pods",
				Error: "failed to get memory resource metric value: failed to get memory utilization: no metrics returned " +
					"matched known pods",
			},
		},
		"resource without a target": {
			"neither field is set", running(targetless(source.Resource), 1),
			source.Failure{
				Reason: "FailedGetResourceMetric",
				Message: "invalid resource metric source: neither an average utilization target nor an average value (usage) " +
					"target was set",
				Error: "failed to get rps resource metric value: invalid resource metric source: neither an average utilization " +
					"target nor an average value (usage) target was set",
			},
		},
		"pods, API down": {
			"custom metrics", failing(running(averageOf(source.Pods, 100), 1), down),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "unable to get metric rps: unable to fetch metrics from custom metrics API: boom",
				Error: "failed to get pods metric value: unable to get metric rps: unable to fetch metrics from custom metrics " +
					"API: boom",
			},
		},
		"pods, empty": {
			"an adapter without values answers with an empty list", failing(running(averageOf(source.Pods, 100), 1), empty),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "unable to get metric rps: no metrics returned from custom metrics API",
				Error:   "failed to get pods metric value: unable to get metric rps: no metrics returned from custom metrics API",
			},
		},
		"pods, no pods": {
			"no message of the API before it", running(averageOf(source.Pods, 100)),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "no pods returned by selector while calculating replica count",
				Error:   "failed to get pods metric value: no pods returned by selector while calculating replica count",
			},
		},
		"pods, no samples": {
			"the same text as for resources", running(averageOf(source.Pods, 100)).missing(0),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "did not receive metrics for targeted pods (pods might be unready)",
				Error:   "failed to get pods metric value: did not receive metrics for targeted pods (pods might be unready)",
			},
		},
		"pods, unusable selector": {
			"asked before the API", failing(running(selectorless(averageOf(source.Pods, 100)), 1), down),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: `"Near" is not a valid label selector operator`,
				Error:   `failed to get pods metric value: "Near" is not a valid label selector operator`,
			},
		},
		"pods without a target": {
			"upstream would crash; validation keeps such objects out", running(targetless(source.Pods), 1),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "invalid pods metric source: no average value target was set",
				Error:   "failed to get pods metric value: invalid pods metric source: no average value target was set",
			},
		},
		"object value, API down": {
			"the object's kind, namespace and name", failing(total(valueOf(source.Object, 1), 1), down),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: "unable to get metric rps on Service shop/web: unable to fetch metrics from custom metrics API: boom",
				Error: "failed to get object metric value: unable to get metric rps on Service shop/web: unable to fetch " +
					"metrics from custom metrics API: boom",
			},
		},
		"object average, API down": {
			"the error says twice that it failed", failing(total(averageOf(source.Object, 1), 1), down),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: "unable to get metric rps on Service shop/web: unable to fetch metrics from custom metrics API: boom",
				Error: "failed to get object metric value: failed to get rps object metric: unable to get metric rps on " +
					"Service shop/web: unable to fetch metrics from custom metrics API: boom",
			},
		},
		"object average, unusable selector": {
			"the selector fails before the target is looked at",
			failing(total(selectorless(averageOf(source.Object, 1)), 1), down),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: `"Near" is not a valid label selector operator`,
				Error:   `failed to get object metric value: "Near" is not a valid label selector operator`,
			},
		},
		"object without a target and with an unusable selector": {
			"the selector comes first", total(selectorless(targetless(source.Object)), 1, 1),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: `"Near" is not a valid label selector operator`,
				Error:   `failed to get object metric value: "Near" is not a valid label selector operator`,
			},
		},
		"object without a target": {
			"or with one whose type does not fit its fields", total(targetless(source.Object), 1, 1),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: "invalid object metric source: neither a value target nor an average value target was set",
				Error: "failed to get object metric value: invalid object metric source: neither a value target nor an average " +
					"value target was set",
			},
		},
		"object value, no pods": {
			"the count of ready pods needs pods", total(valueOf(source.Object, 1), 0, 5).at(2, 2),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: "unable to calculate ready pods: no pods returned by selector while calculating replica count",
				Error: "failed to get object metric value: unable to calculate ready pods: no pods returned by selector while " +
					"calculating replica count",
			},
		},
		"external value, API down": {
			"namespace, name and selector", failing(total(valueOf(source.External, 1), 1), down),
			source.Failure{
				Reason:  "FailedGetExternalMetric",
				Message: "unable to get external metric shop/rps/nil: unable to fetch metrics from external metrics API: boom",
				Error: "failed to get rps external metric value: failed to get external metric rps: unable to get external " +
					"metric shop/rps/nil: unable to fetch metrics from external metrics API: boom",
			},
		},
		"external average, empty": {
			"the message differs from that of a value", failing(total(averageOf(source.External, 1), 1), empty),
			source.Failure{
				Reason:  "FailedGetExternalMetric",
				Message: "unable to get external metric shop/rps/nil: no metrics returned from external metrics API",
				Error: "failed to get rps external metric value: failed to get rps external metric: unable to get external " +
					"metric shop/rps/nil: no metrics returned from external metrics API",
			},
		},
		"external, unusable selector": {
			"no message of the API before it", failing(total(selectorless(valueOf(source.External, 1)), 1), down),
			source.Failure{
				Reason:  "FailedGetExternalMetric",
				Message: `"Near" is not a valid label selector operator`,
				Error:   `failed to get rps external metric value: failed to get external metric rps: "Near" is not a valid label selector operator`,
			},
		},
		"external without a target and with an unusable selector": {
			"here the target comes first", total(selectorless(targetless(source.External)), 1, 1),
			source.Failure{
				Reason:  "FailedGetExternalMetric",
				Message: "invalid external metric source: neither a value target nor an average value target was set",
				Error: "failed to get rps external metric value: invalid external metric source: neither a value target nor an " +
					"average value target was set",
			},
		},
		"unknown type": {
			"a newer API server may know more types",
			total(source.Spec{Type: "Vibes", Target: source.Target{Type: source.Value}}, 1, 1),
			source.Failure{
				Reason:  "InvalidMetricSourceType",
				Message: `unknown metric source type "Vibes"`,
				Error:   `unknown metric source type "Vibes"`,
			},
		},
		"fewer samples than pods": {
			"a defect of the collector costs the metric, not the process",
			failing(running(averageOf(source.Pods, 100), 1), metric.Reading{}),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "unable to get metric rps: the values do not belong to the pods",
				Error:   "failed to get pods metric value: unable to get metric rps: the values do not belong to the pods",
			},
		},
		"no series": {
			"the same of an Object metric", failing(total(valueOf(source.Object, 1), 1), metric.Reading{}),
			source.Failure{
				Reason:  "FailedGetObjectMetric",
				Message: "unable to get metric rps on Service shop/web: the values do not belong to the pods",
				Error: "failed to get object metric value: unable to get metric rps on Service shop/web: the values do not " +
					"belong to the pods",
			},
		},
		"negative sample": {
			"no load is below zero", running(averageOf(source.Pods, 100), 5, -5),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "unable to get metric rps: negative value of pod b: -5m",
				Error:   "failed to get pods metric value: unable to get metric rps: negative value of pod b: -5m",
			},
		},
		"negative extraneous sample": {
			"it would take part in the average", running(averageOf(source.Pods, 100), 5).extraneous(-1),
			source.Failure{
				Reason:  "FailedGetPodsMetric",
				Message: "unable to get metric rps: negative value: -1m",
				Error:   "failed to get pods metric value: unable to get metric rps: negative value: -1m",
			},
		},
		"negative series": {
			"one of them is enough", total(valueOf(source.External, 100), 1, 7, -1),
			source.Failure{
				Reason:  "FailedGetExternalMetric",
				Message: "unable to get external metric shop/rps/nil: negative value: -1m",
				Error: "failed to get rps external metric value: failed to get external metric rps: unable to get external " +
					"metric shop/rps/nil: negative value: -1m",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.scene.evaluate()
			if r.Failure == nil {
				t.Fatalf("no failure but %d replicas: %s", r.Replicas, tt.reason)
			}
			if diff := cmp.Diff(tt.want, *r.Failure); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
			if r.Replicas != 0 || r.Milli != 0 || r.Verdict != metric.Failed {
				t.Errorf("a failed metric shows no numbers, got %+v", r)
			}
		})
	}
}

// TestUncountedRequests: a request is missing on a pod that does not count.
func TestUncountedRequests(t *testing.T) {
	for name, change := range map[string]func(*metric.Pod){
		"deleted":   func(p *metric.Pod) { p.Deleting = true },
		"failed":    func(p *metric.Pod) { p.Phase = metric.PhaseFailed },
		"succeeded": func(p *metric.Pod) { p.Phase = metric.PhaseSucceeded },
	} {
		t.Run(name, func(t *testing.T) {
			s := running(utilization(50), 1000).missing(1000).at(1, 1).
				asking(1, metric.Request{Missing: metric.ContainerWithoutRequest, Container: "job"})
			change(&s.pods[1])
			if r := s.evaluate(); r.Failure != nil || r.Replicas != 2 {
				t.Errorf("got %d replicas, %+v: the pod takes no part", r.Replicas, r.Failure)
			}
			if r := s.with(divergence.Default &^ divergence.UncountedRequests).evaluate(); r.Failure == nil {
				t.Errorf("got %d replicas: upstream asks the request of every selected pod", r.Replicas)
			}
			if r := s.with(divergence.None).evaluate(); r.Failure == nil {
				t.Errorf("got %d replicas: upstream asks the request of every selected pod", r.Replicas)
			}
		})
	}
}

// TestMetricDivergences: each divergence of this package changes the result of its own scene, with and without the
// other divergences.
func TestMetricDivergences(t *testing.T) {
	partial := utilization(50)
	partial.Type, partial.Container = source.ContainerResource, "app"
	succeeded := running(averageOf(source.Pods, 100), 0, 0, 0).missing(0)
	succeeded.pods[3].Phase = metric.PhaseSucceeded
	finished := running(utilization(50), 1000).missing(1000).
		asking(1, metric.Request{Missing: metric.ContainerWithoutRequest, Container: "job"})
	finished.pods[1].Deleting = true

	for d, s := range map[divergence.Set]scene{
		divergence.RolloutSurge:      running(utilization(100), 890, 890, 890).at(2, 3),
		divergence.NoReadyPods:       unready(total(valueOf(source.Object, 100), 1, 500), 0),
		divergence.SucceededPods:     succeeded,
		divergence.Saturate:          total(averageOf(source.Object, 1), 1, 1<<62),
		divergence.UncountedRequests: finished,
		divergence.PartialContainer: running(partial, 1000, 1000, 0).
			asking(2, metric.Request{Missing: metric.ContainerNotFound, Container: "app"}),
		divergence.RejectImplausible: total(valueOf(source.External, 100), 1, 7, -1),
	} {
		t.Run(d.String(), func(t *testing.T) {
			off, on := s.with(divergence.None).evaluate(), s.with(d).evaluate()
			if cmp.Equal(off, on) {
				t.Errorf("%v changes nothing: %+v", d, on)
			}
			rest := s.with(divergence.Default &^ d).evaluate()
			if all := s.with(divergence.Default).evaluate(); cmp.Equal(all, rest) {
				t.Errorf("without %v nothing is missing: %+v", d, all)
			}
		})
	}
}
