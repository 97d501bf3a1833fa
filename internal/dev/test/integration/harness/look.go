package harness

import (
	"context"
	"fmt"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Kinds of targets, as Replicas takes them.
var (
	Deployment            = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	StatefulSet           = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}
	ReplicaSet            = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
	ReplicationController = schema.GroupVersionResource{Version: "v1", Resource: "replicationcontrollers"}
)

// HPA reads a HorizontalPodAutoscaler.
func (s *Namespace) HPA(name string) *autoscalingv2.HorizontalPodAutoscaler {
	s.t.Helper()
	hpa, err := s.hpa(s.t.Context(), name)
	if err != nil {
		s.t.Fatal(err)
	}
	return hpa
}

func (s *Namespace) hpa(ctx context.Context, name string) (*autoscalingv2.HorizontalPodAutoscaler, error) {
	return s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Get(ctx, name, metav1.GetOptions{})
}

// UpdateHPA changes a HorizontalPodAutoscaler's spec or metadata; a conflict with Plimsoll's status is tried again.
func (s *Namespace) UpdateHPA(name string, change func(*autoscalingv2.HorizontalPodAutoscaler)) {
	s.t.Helper()
	s.Eventually("update of "+name, func(ctx context.Context) error {
		hpa, err := s.hpa(ctx, name)
		if err != nil {
			return err
		}
		change(hpa)
		_, err = s.Client.AutoscalingV2().HorizontalPodAutoscalers(s.Name).Update(ctx, hpa, metav1.UpdateOptions{})
		return err
	})
}

// AwaitHPA waits until check returns nil; if it never does, the failure shows the last status.
func (s *Namespace) AwaitHPA(name, what string, check func(*autoscalingv2.HorizontalPodAutoscaler) error) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("%s of %s", what, name), func(ctx context.Context) error {
		hpa, err := s.hpa(ctx, name)
		if err != nil {
			return err
		}
		if err := check(hpa); err != nil {
			return fmt.Errorf("%w\n%s", err, Describe(hpa))
		}
		return nil
	})
}

// Condition is a condition as a test expects it. An empty Message is not compared.
type Condition struct {
	Type    autoscalingv2.HorizontalPodAutoscalerConditionType
	Status  corev1.ConditionStatus
	Reason  string
	Message string
}

// Has reports nil if the status has all the conditions.
func Has(hpa *autoscalingv2.HorizontalPodAutoscaler, wanted ...Condition) error {
	for _, want := range wanted {
		if !has(hpa, want) {
			return fmt.Errorf("no condition %s %s %s %q", want.Type, want.Status, want.Reason, want.Message)
		}
	}
	return nil
}

func has(hpa *autoscalingv2.HorizontalPodAutoscaler, want Condition) bool {
	for _, c := range hpa.Status.Conditions {
		if c.Type == want.Type && c.Status == want.Status && c.Reason == want.Reason {
			return want.Message == "" || c.Message == want.Message
		}
	}
	return false
}

// AwaitConditions waits until the status has all the conditions at the same time.
func (s *Namespace) AwaitConditions(name string, wanted ...Condition) {
	s.t.Helper()
	s.AwaitHPA(name, "conditions", func(hpa *autoscalingv2.HorizontalPodAutoscaler) error { return Has(hpa, wanted...) })
}

// Describe writes a status down for the message of a failure.
func Describe(hpa *autoscalingv2.HorizontalPodAutoscaler) string {
	var text strings.Builder
	fmt.Fprintf(&text, "  %s: generation %d, observed %s, replicas %d, wanted %d, last scale %v\n", hpa.Name,
		hpa.Generation,
		number(hpa.Status.ObservedGeneration), hpa.Status.CurrentReplicas, hpa.Status.DesiredReplicas,
		hpa.Status.LastScaleTime)
	for _, c := range hpa.Status.Conditions {
		fmt.Fprintf(&text, "  %s %s %s: %s\n", c.Type, c.Status, c.Reason, c.Message)
	}
	for i := range hpa.Status.CurrentMetrics {
		fmt.Fprintf(&text, "  metric %s\n", hpa.Status.CurrentMetrics[i].String())
	}
	return text.String()
}

func number[N int32 | int64](n *N) string {
	if n == nil {
		return "none"
	}
	return fmt.Sprint(*n)
}

// Events are the events about a HorizontalPodAutoscaler with a reason, in no order; an empty reason means all.
func (s *Namespace) Events(name, reason string) []corev1.Event {
	s.t.Helper()
	events, err := s.events(s.t.Context(), name, reason)
	if err != nil {
		s.t.Fatal(err)
	}
	return events
}

func (s *Namespace) events(ctx context.Context, name, reason string) ([]corev1.Event, error) {
	selector := fields.Set{"involvedObject.kind": "HorizontalPodAutoscaler", "involvedObject.name": name}
	if reason != "" {
		selector["reason"] = reason
	}
	list, err := s.Client.CoreV1().Events(s.Name).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// AwaitEvent waits for an event of a reason whose message contains the text, and returns it.
func (s *Namespace) AwaitEvent(name, reason, words string) corev1.Event {
	s.t.Helper()
	var found corev1.Event
	s.Eventually(fmt.Sprintf("event %s %q about %s", reason, words, name), func(ctx context.Context) error {
		all, err := s.events(ctx, name, "")
		if err != nil {
			return err
		}
		var seen []string
		for _, event := range all {
			if event.Reason == reason && strings.Contains(event.Message, words) {
				found = event
				return nil
			}
			seen = append(seen, event.Reason+": "+event.Message)
		}
		return fmt.Errorf("events %q", seen)
	})
	return found
}

// Replicas reads spec.replicas of anything that has it.
func (s *Namespace) Replicas(kind schema.GroupVersionResource, name string) int64 {
	s.t.Helper()
	replicas, err := s.replicas(s.t.Context(), kind, name)
	if err != nil {
		s.t.Fatal(err)
	}
	return replicas
}

func (s *Namespace) replicas(ctx context.Context, kind schema.GroupVersionResource, name string) (int64, error) {
	client, err := dynamic.NewForConfig(s.Cluster.RESTConfig())
	if err != nil {
		return 0, err
	}
	object, err := client.Resource(kind).Namespace(s.Name).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return 0, err
	}
	spec, _ := object.Object["spec"].(map[string]any)
	replicas, found := spec["replicas"].(int64)
	if !found {
		return 0, fmt.Errorf("%s %s has no spec.replicas", kind.Resource, name)
	}
	return replicas, nil
}

// AwaitReplicas waits until spec.replicas is the count. That it stays there is another question: HoldsReplicas.
func (s *Namespace) AwaitReplicas(kind schema.GroupVersionResource, name string, want int64) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("%d replicas of %s %s", want, kind.Resource, name), s.wants(kind, name, want))
}

// HoldsReplicas ends the test if spec.replicas leaves the count within the duration.
func (s *Namespace) HoldsReplicas(duration time.Duration, kind schema.GroupVersionResource, name string, want int64) {
	s.t.Helper()
	s.Holds(duration, fmt.Sprintf("%d replicas of %s %s", want, kind.Resource, name), s.wants(kind, name, want))
}

// wants returns the HorizontalPodAutoscaler of the same name in an error, if there is one and its count is another.
func (s *Namespace) wants(kind schema.GroupVersionResource, name string, want int64) func(context.Context) error {
	return func(ctx context.Context) error {
		got, err := s.replicas(ctx, kind, name)
		if err != nil || got == want {
			return err
		}
		if hpa, err := s.hpa(ctx, name); err == nil {
			return fmt.Errorf("%d replicas\n%s", got, Describe(hpa))
		}
		return fmt.Errorf("%d replicas", got)
	}
}
