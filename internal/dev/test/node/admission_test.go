//go:build node

package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// lease is the Lease that the admission servers renew.
const lease = "vpa-admission-controller"

// TestAdmissionServers: two replicas behind their Service. It takes them away, and therefore runs before all tests that
// run beside each other.
func TestAdmissionServers(t *testing.T) {
	s := newSpace(t)
	s.recommend("web", `,"updatePolicy":{"updateMode":"Recreate","minReplicas":1},
		"resourcePolicy":{"containerPolicies":[{"containerName":"app","minAllowed":{"cpu":"40m","memory":"48Mi"}}]}`)
	s.deploy(workload{
		name: "web", replicas: 1, args: []string{"-memory-mib=8"},
		requests: map[corev1.ResourceName]string{"cpu": "20m", "memory": "32Mi"},
	})
	s.eventually(patience, "a recommendation that new pods get", func(ctx context.Context) error {
		return s.recommended(ctx)
	})
	s.eventually(patience, "an eviction, after which the pod has it, too", func(ctx context.Context) error {
		pods, err := s.pods(ctx, "web")
		if err != nil || len(pods) != 1 || !hasRecommended(&pods[0]) {
			return fmt.Errorf("%d pods without it, %w", len(pods), err)
		}
		return nil
	})
	t.Run("LeaseIsRenewed", func(t *testing.T) { s.in(t).leaseIsRenewed() })
	t.Run("OneEnds", func(t *testing.T) { s.in(t).oneEnds(30, true) })
	t.Run("OneIsKilled", func(t *testing.T) { s.in(t).oneEnds(0, false) })
	t.Run("BothAreAway", func(t *testing.T) { s.in(t).bothAreAway() })
}

func hasRecommended(pod *corev1.Pod) bool {
	requests := pod.Spec.Containers[0].Resources.Requests
	return requests.Cpu().MilliValue() == 40 && requests.Memory().Value() == 48<<20
}

// tried is a pod as the API server would create it: with all that the admission servers do to it.
func (s *space) tried(ctx context.Context) (*corev1.Pod, error) {
	sets, err := stage.cluster.Client().AppsV1().ReplicaSets(s.namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(sets.Items) == 0 {
		return nil, errors.Join(err, errors.New("no ReplicaSet"))
	}
	set := &sets.Items[0]
	pod := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	pod.GenerateName = set.Name + "-"
	pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set,
		appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}
	return stage.cluster.Client().CoreV1().Pods(s.namespace).Create(ctx, pod,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

// recommended reports that a new pod gets what is recommended.
func (s *space) recommended(ctx context.Context) error {
	pod, err := s.tried(ctx)
	if err == nil && !hasRecommended(pod) {
		err = fmt.Errorf("a new pod gets %v", pod.Spec.Containers[0].Resources.Requests)
	}
	return err
}

func (s *space) leaseIsRenewed() {
	seen := map[time.Time]string{}
	s.eventually(patience, "a Lease that is renewed", func(ctx context.Context) error {
		found, err := stage.cluster.Client().CoordinationV1().Leases(own).Get(ctx, lease, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if found.Spec.RenewTime != nil {
			seen[found.Spec.RenewTime.Time] = ptr.Deref(found.Spec.HolderIdentity, "")
		}
		if len(seen) < 3 {
			return fmt.Errorf("%d times so far", len(seen))
		}
		return nil
	})
	s.t.Logf("renewed: %v", seen)
}

// servers are the admission servers' pods.
func servers(ctx context.Context) ([]corev1.Pod, error) {
	found, err := stage.cluster.Client().CoreV1().Pods(own).List(ctx,
		metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + admission})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil }), nil
}

// oneEnds deletes one of the two while pods are created all the time. None may be refused. If the server may end in
// peace, each gets what is recommended; if it is killed, the requests that were on their way to it are not answered,
// and their pods are as they were.
//
//nolint:gocyclo // one story, told in order
func (s *space) oneEnds(graceSeconds int64, all bool) {
	t := s.t
	t.Helper()
	before, err := servers(t.Context())
	if err != nil || len(before) != 2 {
		t.Fatalf("%d servers, %v", len(before), err)
	}
	victim := before[0].Name
	if err := stage.cluster.Client().CoreV1().Pods(own).Delete(t.Context(), victim,
		metav1.DeleteOptions{GracePeriodSeconds: &graceSeconds}); err != nil {
		t.Fatal(err)
	}
	created, unchanged, slowest := 0, 0, time.Duration(0)
	began := time.Now()
	s.eventually(patience, "two servers again", func(ctx context.Context) error {
		asked := time.Now()
		pod, err := s.tried(ctx)
		if err != nil {
			t.Fatalf("%s after %s ended, a pod was lost: %v", time.Since(began), victim, err)
		}
		slowest = max(slowest, time.Since(asked))
		if created++; !hasRecommended(pod) {
			unchanged++
		}
		now, err := servers(ctx)
		if err != nil {
			return err
		}
		ready := 0
		for i := range now {
			if isReady(&now[i]) && now[i].Name != victim {
				ready++
			}
		}
		_, err = stage.cluster.Client().CoreV1().Pods(own).Get(ctx, victim, metav1.GetOptions{})
		if ready < 2 || err == nil || time.Since(began) < 20*time.Second {
			return fmt.Errorf("%d are ready, of %s: %w", ready, victim, err)
		}
		return nil
	})
	t.Logf("%d pods within %s, none lost, %d unchanged, the slowest took %s", created,
		time.Since(began).Round(time.Second), unchanged, slowest)
	if all && unchanged > 0 {
		t.Errorf("%d of %d pods did not get what is recommended", unchanged, created)
	}
	if err := s.recommended(t.Context()); err != nil {
		t.Error(err)
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// bothAreAway: new pods have the resources of their template, and the updater evicts none of them and reports why.
//
//nolint:gocyclo // one story, told in order
func (s *space) bothAreAway() {
	t := s.t
	t.Helper()
	scale := func(replicas int) {
		if _, err := stage.cluster.Kubectl(context.WithoutCancel(t.Context()), "-n", own, "scale", "deployment/"+admission,
			fmt.Sprintf("--replicas=%d", replicas)); err != nil {
			t.Fatal(err)
		}
	}
	scale(0)
	defer func() {
		scale(2)
		s.eventually(patience, "two servers again", func(ctx context.Context) error { return s.recommended(ctx) })
		s.kubectl("rollout", "status", "deployment/"+admission, "-n", own, "--timeout=3m")
	}()
	s.eventually(patience, "no servers", func(ctx context.Context) error {
		found, err := stage.cluster.Client().CoreV1().Pods(own).List(ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=" + admission})
		if err == nil && len(found.Items) > 0 {
			err = fmt.Errorf("%d", len(found.Items))
		}
		return err
	})
	asked := time.Now()
	pod, err := s.tried(t.Context())
	if err != nil || hasRecommended(pod) {
		t.Fatalf("without servers: %v %v", pod, err)
	}
	t.Logf("admitted unchanged within %s", time.Since(asked).Round(time.Millisecond))
	evicted := func(ctx context.Context) int {
		events, err := s.events(ctx, "EvictedByVPA")
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	before := evicted(t.Context())
	s.eventually(patience, "a condition that says why nothing is evicted", func(ctx context.Context) error {
		c, err := s.condition(ctx, "web", "UpdateBlocked")
		if err == nil && (c.Status != corev1.ConditionTrue || c.Reason != "LeaseStale") {
			err = fmt.Errorf("%+v", c)
		}
		if err == nil {
			t.Logf("UpdateBlocked: %s: %s", c.Reason, c.Message)
		}
		return err
	})
	// A pod that should be changed: the template's requests are not what is recommended.
	s.kubectl("delete", "pod", "-l", "app=web", "--wait=true")
	unchanged := s.running("web")
	s.holds(30*time.Second, "left alone", func(ctx context.Context) error {
		pods, err := s.pods(ctx, "web")
		if err != nil || len(pods) != 1 || pods[0].UID != unchanged.UID || hasRecommended(&pods[0]) {
			return fmt.Errorf("%d pods, %w", len(pods), err)
		}
		return nil
	})
	if after := evicted(t.Context()); after != before {
		t.Errorf("%d evictions meanwhile", after-before)
	}
}

// TestRegisteredByService: the API server reaches the servers by their Service alone, whose certificate names it.
func TestRegisteredByService(t *testing.T) {
	found, err := stage.cluster.Client().AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(),
		"vpa-webhook-config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, hook := range found.Webhooks {
		service := hook.ClientConfig.Service
		if service == nil || service.Namespace != own || service.Name != "vpa-webhook" || hook.ClientConfig.URL != nil ||
			string(*hook.FailurePolicy) != "Ignore" {
			t.Errorf("%s: %+v, %v", hook.Name, hook.ClientConfig, *hook.FailurePolicy)
		}
	}
	if len(found.Webhooks) == 0 {
		t.Error("no webhooks")
	}
}
