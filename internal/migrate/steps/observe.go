package steps

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// Comparison compares the replica counts that an HPA and its WorkloadAutoscaler want. For a ScaledObject it is the HPA
// that KEDA created.
type Comparison struct {
	Name types.NamespacedName
	// Samples is the number of reads in which both had a count, Equal the number of those with equal counts.
	Samples, Equal int
	// HPA and WorkloadAutoscaler are the last counts, Replicas the target's.
	HPA, WorkloadAutoscaler, Replicas int32
	// LargestDifference is the largest difference, by its absolute value, of the WorkloadAutoscaler's count and the HPA's.
	LargestDifference int32
	// Reason is the WorkloadAutoscaler's.
	Reason string
	// Problem is the reason why the WorkloadAutoscaler cannot replace the HPA now; empty if it can.
	Problem string
}

const (
	hpaNotDecided = "kube-controller-manager has not decided on the HPA: does its HPA loop run?"
	notDecided    = "Plimsoll's controller has not decided on the WorkloadAutoscaler: does it run?"
	notSeen       = "Plimsoll's controller does not show that the HPA has the target"
)

// anotherAutoscaler is the reason of the condition AbleToScale of a WorkloadAutoscaler that does not act because its
// target has an HPA. In mode Preview, and while the HPA is replaced, the condition is True: that is no fault.
const anotherAutoscaler = "TargetHasAnotherAutoscaler"

// samplesPerSecond bounds the reads of a comparison of many objects.
const samplesPerSecond = 50

// progressPeriod is the time between two reports of the remaining time by Observe.
const progressPeriod = 15 * time.Second

// Observe compares for the duration, and for up to the timeout longer if Plimsoll's controller has not decided on all
// objects by then. It calls progress with the remaining time.
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
		began := time.Now()
		if began.Sub(reported) >= progressPeriod {
			progress(max(0, end.Sub(began)))
			reported = began
		}
		Each(ctx, len(all), func(i int) {
			state, err := r.Cluster.State(ctx, all[i].Name)
			if err != nil {
				// The next sample may be read.
				all[i].Problem = err.Error()
				return
			}
			all[i].sample(state)
		})
		left := time.Until(end)
		if left <= 0 && (!isAnyUndecided(all) || left <= -r.Timeout) {
			if !r.AcceptsDifferences {
				refuseDifferent(all)
			}
			return all, nil
		}
		wait := max(0, time.Until(began.Add(pause)))
		if left > 0 {
			wait = min(wait, left)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func isAnyUndecided(all []Comparison) bool {
	return slices.ContainsFunc(all, func(c Comparison) bool {
		return c.Problem == notDecided || c.Problem == hpaNotDecided
	})
}

// refuseDifferent sets a problem for objects whose counts were never equal. While a load changes, Plimsoll reacts
// earlier than the HPA, but not all the time.
func refuseDifferent(all []Comparison) {
	for i := range all {
		if c := &all[i]; c.Problem == "" && c.Equal == 0 {
			c.Problem = fmt.Sprintf("both never wanted the same count (at the end the HPA %d, the WorkloadAutoscaler %d): "+
				"compare plimsoll explain of both, or observe for longer; --accept-differences replaces it all the same",
				c.HPA, c.WorkloadAutoscaler)
		}
	}
}

// workers is the number of objects that are read or written at once. The API server divides its capacity among its
// users, and responds to excess requests with 429, after which the client waits.
const workers = 8

// Each calls do for each of n objects, several at a time, until the context ends. It returns the number of calls; these
// are for the first objects.
func Each(ctx context.Context, n int, do func(i int)) (begun int) {
	var all errgroup.Group
	all.SetLimit(workers)
	for ; begun < n && ctx.Err() == nil; begun++ {
		i := begun
		all.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = all.Wait() // There are no errors.
	return begun
}

func (c *Comparison) sample(s *State) {
	w := s.WorkloadAutoscaler
	if s.HPA == nil || w == nil {
		c.Problem = "the objects were changed during the comparison"
		return
	}
	c.Problem = problem(s.HPA, w)
	if c.Problem == notDecided {
		return
	}
	desired, _, _ := unstructured.NestedInt64(s.HPA.Object, "status", "desiredReplicas")
	if desired == 0 && conditionOf(s.HPA, ableToScale) == nil {
		if c.Problem == "" {
			c.Problem = hpaNotDecided
		}
		return
	}
	c.HPA, c.WorkloadAutoscaler = int32(desired), w.Status.DesiredReplicas
	c.Replicas = w.Status.CurrentReplicas
	if w.Status.Summary != nil {
		c.Reason = w.Status.Summary.Reason
	}
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

// scalingActive is the condition that is false if no metric can be read.
const scalingActive = "ScalingActive"

// problem returns why the WorkloadAutoscaler must not replace the HPA now.
func problem(hpa *unstructured.Unstructured, w *plimsollv1alpha1.WorkloadAutoscaler) string {
	isYielding := slices.ContainsFunc(w.Status.Conditions, func(c metav1.Condition) bool {
		return c.Reason == anotherAutoscaler
	})
	switch observed := w.Status.ObservedGeneration; {
	case observed == nil || *observed < w.Generation:
		return notDecided
	case !isYielding:
		// Both would act once the WorkloadAutoscaler is Active.
		return cmp.Or(unread(w), notSeen)
	case isUnscalable(hpa):
		return ""
	}
	return unread(w)
}

// unread returns the metric or target that the WorkloadAutoscaler cannot read, and why; empty if it reads all.
func unread(w *plimsollv1alpha1.WorkloadAutoscaler) string {
	for i := range w.Status.Metrics {
		if m := &w.Status.Metrics[i]; m.Failure != nil {
			return fmt.Sprintf("the WorkloadAutoscaler cannot read %s: %s", m.Name, m.Failure.Message)
		}
	}
	for i := range w.Status.Conditions {
		c := &w.Status.Conditions[i]
		isUnread := strings.HasPrefix(c.Reason, "FailedGet") || strings.HasPrefix(c.Reason, "Invalid")
		if (c.Type == scalingActive || c.Type == ableToScale) && c.Status == metav1.ConditionFalse && isUnread {
			return fmt.Sprintf("the WorkloadAutoscaler cannot scale (%s): %s", c.Reason, c.Message)
		}
	}
	return ""
}

// scalingDisabled is the reason of an HPA that reads no metric because KEDA has scaled its target to zero.
const scalingDisabled = "ScalingDisabled"

// isUnscalable reports whether the HPA cannot read its metrics either.
func isUnscalable(hpa *unstructured.Unstructured) bool {
	c := conditionOf(hpa, scalingActive)
	return c["status"] == string(metav1.ConditionFalse) && c["reason"] != scalingDisabled
}

// ableToScale is the condition of an HPA that is false, with this reason, if its target cannot be read.
const (
	ableToScale    = "AbleToScale"
	failedGetScale = "FailedGetScale"
)

// checkTarget refuses an HPA whose target kube-controller-manager does not find. Neither autoscaler can scale it.
func checkTarget(hpa *unstructured.Unstructured) error {
	c := conditionOf(hpa, ableToScale)
	if c["status"] != string(metav1.ConditionFalse) || c["reason"] != failedGetScale {
		return nil
	}
	return fmt.Errorf("kube-controller-manager cannot read the target of the HPA (%s: %v): correct spec.scaleTargetRef, "+
		"or create the target", failedGetScale, c["message"])
}

// conditionOf returns a condition of the HPA's status; nil if it has none of the type.
func conditionOf(hpa *unstructured.Unstructured, kind string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(hpa.Object, "status", "conditions")
	for _, each := range conditions {
		if condition, _ := each.(map[string]any); condition["type"] == kind {
			return condition
		}
	}
	return nil
}

// WriteTable writes the comparisons, a line for each object: its replicas, both counts, how often these were equal, and
// the largest difference. The reasons why objects are not replaced are printed with the other errors.
func WriteTable(w io.Writer, all []Comparison) error {
	// What breaks lines needs whole ones: the tabwriter writes cells.
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "NAMESPACE\tNAME\tNOW\tHPA\tWLA\tEQUAL\tAPART\tWHY")
	for i := range all {
		c := &all[i]
		why := c.Reason
		if c.Problem != "" {
			why = "not replaced"
		}
		if c.Samples == 0 {
			fmt.Fprintf(t, "%s\t%s\t-\t-\t-\t-\t-\t%s\n", c.Name.Namespace, c.Name.Name, why)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d of %d\t%+d\t%s\n", c.Name.Namespace, c.Name.Name, c.Replicas, c.HPA,
			c.WorkloadAutoscaler, c.Equal, c.Samples, c.LargestDifference, why)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}
