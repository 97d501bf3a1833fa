package oom

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
)

// An event that names more containers than a pod has is forged, and dropped. If as many claims are kept as permitted,
// only the first claim of an event is processed whose namespace has the most.
func TestEvictionOfTooManyContainers(t *testing.T) {
	w := NewWatcher(func(string, string) *corev1.Pod { return nil }, divergence.Default, func() {})
	of := func(n int) *corev1.Event {
		forged := &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e", CreationTimestamp: metav1.Now(),
				Annotations: map[string]string{
					"offending_containers": "app", "offending_containers_usage": "1Ti", "starved_resource": "memory",
				}},
			Reason: "Evicted", InvolvedObject: corev1.ObjectReference{Kind: "Pod",
				Namespace: "shop", Name: "web-0", UID: "uid-web-0"},
		}
		for key, text := range forged.Annotations {
			forged.Annotations[key] = strings.Repeat(text+",", n-1) + text
		}
		return forged
	}
	w.Evictions().OnAdd(of(maxContainers+1), false)
	if len(w.claims) != 0 {
		t.Errorf("%d claims are kept", len(w.claims))
	}
	for range 2 * MaxPending / maxContainers {
		w.Evictions().OnAdd(of(maxContainers), false)
	}
	if len(w.claims) != MaxPending || w.addClaimLocked(w.claims[0]) {
		t.Errorf("%d claims are kept, or room is made for another", len(w.claims))
	}
}

func TestEvictedSaysNothingElse(t *testing.T) {
	event := func(annotations map[string]string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Reason: "Evicted",
			InvolvedObject: corev1.ObjectReference{Kind: "Pod"},
		}
	}
	for why, e := range map[string]*corev1.Event{
		"nothing": event(nil),
		"of another resource": event(map[string]string{
			"offending_containers": "a", "offending_containers_usage": "1Gi", "starved_resource": "ephemeral-storage",
		}),
		"lists that differ": event(map[string]string{
			"offending_containers": "a,b", "offending_containers_usage": "1Gi", "starved_resource": "memory",
		}),
		"use that is no number": event(map[string]string{
			"offending_containers": "a", "offending_containers_usage": "much", "starved_resource": "memory",
		}),
		"hours to read": event(map[string]string{
			"offending_containers": "a", "offending_containers_usage": "1e-999999999", "starved_resource": "memory",
		}),
	} {
		if found := evicted(e); len(found) != 0 {
			t.Errorf("%s: %v", why, found)
		}
	}
}
