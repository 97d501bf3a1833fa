package steps

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// Comparison is of the replica counts that an HPA and its WorkloadAutoscaler want.
type Comparison struct {
	Name types.NamespacedName
	// Samples is how often both were read and wanted a count, Equal how often the same.
	Samples, Equal int
	// HPA and WorkloadAutoscaler are the last counts, Replicas the target's.
	HPA, WorkloadAutoscaler, Replicas int32
	// LargestDifference is the WorkloadAutoscaler's count less the HPA's, where it was the
	// furthest from 0.
	LargestDifference int32
	// Reason is the WorkloadAutoscaler's.
	Reason string
	// Problem is why the WorkloadAutoscaler cannot replace the HPA now; empty if it can.
	Problem string
}

const notDecided = "Plimsoll's controller has not decided on the WorkloadAutoscaler: does it run?"

// samplesPerSecond bounds the reads of a comparison of many objects.
const samplesPerSecond = 50

// progressPeriod is how often Observe reports how long it still takes.
const progressPeriod = 15 * time.Second

// Observe compares for the duration. The progress takes how long it still takes.
func (r *Runner) Observe(
	ctx context.Context, names []types.NamespacedName, duration time.Duration, progress func(left time.Duration),
) ([]Comparison, error) {
	all := make([]Comparison, len(names))
	for i, name := range names {
		all[i] = Comparison{Name: name, Problem: notDecided}
	}
	pause := max(r.Poll, time.Duration(len(names))*time.Second/samplesPerSecond)
	end, reported := time.Now().Add(duration), time.Time{}
	for {
		if now := time.Now(); now.Sub(reported) >= progressPeriod {
			progress(max(0, end.Sub(now)))
			reported = now
		}
		for i := range all {
			state, err := r.Cluster.State(ctx, all[i].Name)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", all[i].Name, err)
			}
			all[i].sample(state)
		}
		left := time.Until(end)
		if left <= 0 {
			return all, nil
		}
		select {
		case <-time.After(min(pause, left)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (c *Comparison) sample(s *State) {
	w := s.WorkloadAutoscaler
	if s.HPA == nil || w == nil || !s.isPreview() {
		c.Problem = "the objects were changed during the comparison"
		return
	}
	if w.Status.ObservedGeneration == nil || *w.Status.ObservedGeneration < w.Generation {
		c.Problem = notDecided
		return
	}
	c.Problem = problem(s.HPA, w)
	desired, _, _ := unstructured.NestedInt64(s.HPA.Object, "status", "desiredReplicas")
	c.HPA, c.WorkloadAutoscaler = int32(desired), w.Status.DesiredReplicas
	c.Replicas, c.Reason = w.Status.CurrentReplicas, w.Status.Reason
	c.Samples++
	difference := c.WorkloadAutoscaler - c.HPA
	if difference == 0 {
		c.Equal++
	}
	if abs(difference) > abs(c.LargestDifference) {
		c.LargestDifference = difference
	}
}

func abs(n int32) int32 { return max(n, -n) }

// scalingActive is the condition that is false where no metric can be read.
const scalingActive = "ScalingActive"

// problem is why the WorkloadAutoscaler cannot scale although the HPA can. That the HPA
// has the same target is none: it is about to be deleted.
func problem(hpa *unstructured.Unstructured, w *plimsollv1alpha1.WorkloadAutoscaler) string {
	if conditionOf(hpa) == string(metav1.ConditionFalse) {
		return ""
	}
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		isUnread := strings.HasPrefix(c.Reason, "FailedGet") || strings.HasPrefix(c.Reason, "Invalid")
		if c.Type == scalingActive && c.Status == metav1.ConditionFalse && isUnread {
			return fmt.Sprintf("the WorkloadAutoscaler cannot scale (%s): %s", c.Reason, c.Message)
		}
	}
	return ""
}

// conditionOf is the status of the HPA's condition ScalingActive; empty if it has none.
func conditionOf(hpa *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(hpa.Object, "status", "conditions")
	for _, each := range conditions {
		condition, _ := each.(map[string]any)
		if condition["type"] == scalingActive {
			status, _ := condition["status"].(string)
			return status
		}
	}
	return ""
}

// WriteTable writes the comparisons, a line for each object.
func WriteTable(w io.Writer, all []Comparison) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NAMESPACE\tNAME\tREPLICAS\tHPA WANTS\tWLA WANTS\tEQUAL\tLARGEST DIFFERENCE\tWHY")
	for i := range all {
		c := &all[i]
		why := c.Reason
		if c.Problem != "" {
			why = c.Problem
		}
		if c.Samples == 0 {
			fmt.Fprintf(t, "%s\t%s\t-\t-\t-\t-\t-\t%s\n", c.Name.Namespace, c.Name.Name, why)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d of %d\t%+d\t%s\n", c.Name.Namespace, c.Name.Name, c.Replicas, c.HPA,
			c.WorkloadAutoscaler, c.Equal, c.Samples, c.LargestDifference, why)
	}
	return t.Flush()
}
