//go:build node

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestResizedInPlace: a running container gets more CPU and memory, is the same container afterwards, and has the new
// limits in the kernel.
func TestResizedInPlace(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"InPlaceOrRecreate", "InPlace"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.deploy(workload{
				name: "web", replicas: 1, args: []string{"-cpu-milli=20", "-memory-mib=16"},
				requests: map[corev1.ResourceName]string{"cpu": "100m", "memory": "64Mi"},
				limits:   map[corev1.ResourceName]string{"cpu": "200m", "memory": "128Mi"},
			})
			before := s.running("web")
			was := cgroup{CPUShares: "102", CPUQuota: "20000", MemoryLimit: fmt.Sprint(128 << 20)}
			if got := s.cgroupOf(before); got != was {
				t.Fatalf("the container begins with %+v, want %+v", got, was)
			}
			s.recommend("web", fmt.Sprintf(`,"updatePolicy":{"updateMode":%q,"minReplicas":1},
				"resourcePolicy":{"containerPolicies":[{"containerName":"app","minAllowed":{"cpu":"300m","memory":"160Mi"}}]}`, mode))
			want := cgroup{CPUShares: "307", CPUQuota: "60000", MemoryLimit: fmt.Sprint(320 << 20)}
			s.eventually(patience, "another cgroup", func(context.Context) error {
				if got := s.cgroupOf(before); got != want {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
			after := s.running("web")
			b, a := before.Status.ContainerStatuses[0], after.Status.ContainerStatuses[0]
			if after.UID != before.UID || a.ContainerID != b.ContainerID || a.RestartCount != 0 {
				t.Errorf("another container: %s of pod %s, %d restarts; it was %s of %s", a.ContainerID, after.UID, a.RestartCount,
					b.ContainerID, before.UID)
			}
			t.Logf("%s, %d restarts: %+v, then %+v", a.ContainerID[:24], a.RestartCount, was, want)
			s.eventually(patience, "the status says so, too", func(context.Context) error {
				pod := s.running("web")
				has := pod.Status.ContainerStatuses[0].Resources
				for _, c := range pod.Status.Conditions {
					if c.Type == corev1.PodResizePending || c.Type == corev1.PodResizeInProgress {
						return fmt.Errorf("%s: %s: %s", c.Type, c.Reason, c.Message)
					}
				}
				if has == nil || has.Limits.Memory().Value() != 320<<20 {
					return fmt.Errorf("%+v", has)
				}
				return nil
			})
			s.awaitEvents(patience, "InPlaceResizedByVPA")
			if evicted, err := s.events(t.Context(), "EvictedByVPA"); err != nil || len(evicted) > 0 {
				t.Errorf("evicted: %v %v", evicted, err)
			}
		})
	}
}

// cgroup has the kernel's limits of a container.
type cgroup struct{ CPUShares, CPUQuota, MemoryLimit string }

// cgroupOf reads what the kernel allows a pod's first container.
func (s *space) cgroupOf(pod *corev1.Pod) cgroup {
	s.t.Helper()
	return cgroup{
		CPUShares: s.cgroupFile(pod, "cpu", "cpu.shares"), CPUQuota: s.cgroupFile(pod, "cpu", "cpu.cfs_quota_us"),
		MemoryLimit: s.cgroupFile(pod, "memory", "memory.limit_in_bytes"),
	}
}

// cgroupFile reads a file of the cgroup (version 1) of a pod's first container.
func (s *space) cgroupFile(pod *corev1.Pod, controller, file string) string {
	s.t.Helper()
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	pattern := filepath.Join("/", "sys", "fs", "cgroup", controller, "plimsoll-node", "kubepods*", "*", "pod"+
		string(pod.UID), id, file)
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		s.t.Fatalf("%s: %v %v", pattern, found, err)
	}
	text, err := os.ReadFile(found[0])
	if err != nil {
		s.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// uses waits until a pod's first container uses so much memory.
func (s *space) uses(pod *corev1.Pod, bytes int) {
	s.t.Helper()
	s.eventually(patience, "memory in use", func(context.Context) error {
		used, err := strconv.Atoi(s.cgroupFile(pod, "memory", "memory.usage_in_bytes"))
		if err == nil && used < bytes {
			err = fmt.Errorf("%d bytes", used)
		}
		return err
	})
}

// spacious is a container that uses half of what it may.
func spacious() workload {
	return workload{
		name: "web", replicas: 1, args: []string{"-memory-mib=100"},
		requests: map[corev1.ResourceName]string{"cpu": "25m", "memory": "200Mi"},
		limits:   map[corev1.ResourceName]string{"memory": "200Mi"},
	}
}

// blocked waits until the updater reports this reason.
func (s *space) blocked(reason string) {
	s.t.Helper()
	s.eventually(patience, "a condition that says so", func(ctx context.Context) error {
		c, err := s.condition(ctx, "web", "UpdateBlocked")
		if err == nil && (c.Status != corev1.ConditionTrue || c.Reason != reason) {
			err = fmt.Errorf("%+v", c)
		}
		if err == nil {
			s.t.Logf("UpdateBlocked: %s: %s", c.Reason, c.Message)
		}
		return err
	})
}

// awaitEvents waits for events of a reason.
func (s *space) awaitEvents(within time.Duration, reason string) {
	s.t.Helper()
	s.eventually(within, "events of "+reason, func(ctx context.Context) error {
		events, err := s.events(ctx, reason)
		if len(events) == 0 {
			return errors.Join(err, errors.New("no event"))
		}
		s.t.Log(events)
		return err
	})
}

// TestMemoryInUse: the container uses more memory than its new limit would allow. The kubelet would refuse, and gets no
// request: mode InPlace reports that and leaves the pod, mode InPlaceOrRecreate evicts when that has lasted for five
// minutes.
func TestMemoryInUse(t *testing.T) {
	t.Parallel()
	for mode, evicts := range map[string]bool{"InPlaceOrRecreate": true, "InPlace": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.deploy(spacious())
			before := s.running("web")
			was := s.cgroupOf(before)
			s.recommend("web", `,"updatePolicy":{"updateMode":"Off","minReplicas":1},
				"resourcePolicy":{"containerPolicies":[{"containerName":"app","maxAllowed":{"memory":"64Mi"}}]}`)
			s.eventually(patience, "its use is known", func(ctx context.Context) error {
				object, err := s.vpa(ctx, "web")
				if err != nil || object.Status.Recommendation == nil ||
					len(object.Status.Recommendation.ContainerRecommendations) != 1 {
					return fmt.Errorf("no recommendation: %w", err)
				}
				if uncapped := object.Status.Recommendation.ContainerRecommendations[0].UncappedTarget.Memory(); uncapped.Value() < 100<<20 {
					return fmt.Errorf("%s", uncapped)
				}
				return nil
			})
			s.kubectl("patch", "vpa", "web", "--type=merge", "-p",
				fmt.Sprintf(`{"spec":{"updatePolicy":{"updateMode":%q}}}`, mode))
			s.blocked("MemoryInUse")
			if evicts {
				s.awaitEvents(3*patience, "EvictedByVPA") // five minutes later
			}
			if resized, err := s.events(t.Context(), "InPlaceResizedByVPA"); err != nil || len(resized) > 0 {
				t.Errorf("the kubelet was asked: %v %v", resized, err)
			}
			if evicts {
				return
			}
			after := s.running("web")
			if got := s.cgroupOf(after); after.UID != before.UID || got != was {
				t.Errorf("pod %s has %+v; it was %s with %+v", after.UID, got, before.UID, was)
			}
		})
	}
}

// TestRefusedResize: the kubelet does not take away memory that a container uses. The test requests that, and it
// refuses. Plimsoll reports that. Its own recommendation is possible: mode InPlace resizes again, mode
// InPlaceOrRecreate gives the kubelet five minutes and evicts.
func TestRefusedResize(t *testing.T) {
	t.Parallel()
	for mode, evicts := range map[string]bool{"InPlaceOrRecreate": true, "InPlace": false} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := newSpace(t)
			s.deploy(spacious())
			pod := s.running("web")
			was := s.cgroupOf(pod)
			s.uses(pod, 100<<20)
			s.kubectl("patch", "pod", pod.Name, "--subresource=resize", "--type=strategic", "-p",
				`{"spec":{"containers":[{"name":"app","resources":{"requests":{"memory":"50Mi"},"limits":{"memory":"50Mi"}}}]}}`)
			s.eventually(patience, "the kubelet's refusal", func(ctx context.Context) error {
				for _, c := range s.running("web").Status.Conditions {
					if c.Type == corev1.PodResizeInProgress && c.Reason == corev1.PodReasonError {
						t.Logf("%s: %s: %s", c.Type, c.Reason, c.Message)
						return nil
					}
				}
				return errors.New("no condition")
			})
			if got := s.cgroupOf(pod); got != was {
				t.Fatalf("the kubelet refused, but the container has %+v", got)
			}
			s.recommend("web", fmt.Sprintf(`,"updatePolicy":{"updateMode":%q,"minReplicas":1},
				"resourcePolicy":{"containerPolicies":[{"containerName":"app","minAllowed":{"memory":"300Mi"}}]}`, mode))
			if !evicts {
				s.eventually(patience, "a resize that the kubelet does", func(context.Context) error {
					after := s.running("web")
					if after.UID != pod.UID {
						t.Fatalf("pod %s, it was %s", after.UID, pod.UID)
					}
					if got := s.cgroupOf(after); got.MemoryLimit != fmt.Sprint(300<<20) {
						return fmt.Errorf("%+v", got)
					}
					return nil
				})
				return
			}
			s.blocked("ResizeError")
			s.awaitEvents(3*patience, "EvictedByVPA")
		})
	}
}
