package scaling

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/workloads"
)

// objects are the WorkloadAutoscalers of a test's namespace.
type objects struct {
	*workloads.Autoscalers
	t *testing.T
}

func objectsOf(t *testing.T) *objects {
	t.Helper()
	return &objects{Autoscalers: workloads.Of(t, namespace(t)), t: t}
}

// create makes a WorkloadAutoscaler with the spec of an HPA and changes, a JSON object, to it.
func (o *objects) create(name string, hpa *autoscalingv2.HorizontalPodAutoscaler, changes string) {
	o.t.Helper()
	object := &plimsollv1alpha1.WorkloadAutoscaler{ObjectMeta: metav1.ObjectMeta{Name: name}}
	text, err := json.Marshal(hpa.Spec)
	for _, part := range []string{string(text), changes} {
		if err == nil && part != "" {
			err = json.Unmarshal([]byte(part), &object.Spec)
		}
	}
	for i := range object.Spec.Metrics {
		m := &object.Spec.Metrics[i]
		if m.Name = fmt.Sprint("m", i); m.Resource != nil {
			m.Name = m.Resource.Name
		}
	}
	if err == nil {
		_, err = o.WLAs.Create(o.t.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

// patch changes the spec with one merge patch.
func (o *objects) patch(name, spec string) {
	o.t.Helper()
	_, err := o.WLAs.Patch(o.t.Context(), name, types.MergePatchType, []byte(`{"spec":`+spec+`}`), metav1.PatchOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *objects) remove(name string) {
	o.t.Helper()
	if err := o.WLAs.Delete(o.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// await waits until check returns nil for the object's last status.
func (o *objects) await(name, what string, check func(*plimsollv1alpha1.WorkloadAutoscalerStatus) error) {
	o.t.Helper()
	o.AwaitWLA(name, what, func(object *plimsollv1alpha1.WorkloadAutoscaler) error { return check(&object.Status) })
}

// awaitCondition waits for a condition whose message contains the text.
func (o *objects) awaitCondition(name, kind string, status metav1.ConditionStatus, text string) {
	o.t.Helper()
	o.await(name, fmt.Sprintf("%s=%s %q", kind, status, text), func(s *plimsollv1alpha1.WorkloadAutoscalerStatus) error {
		return hasCondition(s, kind, status, text)
	})
}

func hasCondition(
	s *plimsollv1alpha1.WorkloadAutoscalerStatus, kind string, status metav1.ConditionStatus, text string,
) error {
	for i := range s.Conditions {
		c := &s.Conditions[i]
		if c.Type == kind && c.Status == status && strings.Contains(c.Reason+" "+c.Message, text) {
			return nil
		}
	}
	return fmt.Errorf("no condition %s %s %q", kind, status, text)
}

// awaitDesired waits until the status shows what was decided of what.
func (o *objects) awaitDesired(name string, current, desired int32) {
	o.t.Helper()
	o.await(name, fmt.Sprintf("%d replicas wanted of %d", desired, current),
		func(s *plimsollv1alpha1.WorkloadAutoscalerStatus) error {
			if s.CurrentReplicas != current || s.DesiredReplicas != desired {
				return fmt.Errorf("%d wanted of %d", s.DesiredReplicas, s.CurrentReplicas)
			}
			return nil
		})
}

// awaitOwnEvent waits for an event about a WorkloadAutoscaler whose reason and message contain the text.
func (o *objects) awaitOwnEvent(name, text string) {
	o.t.Helper()
	selector := fields.Set{"involvedObject.kind": plimsollv1alpha1.Kind, "involvedObject.name": name}
	o.Eventually(fmt.Sprintf("event %q about %s", text, name), func(ctx context.Context) error {
		list, err := o.Client.CoreV1().Events(o.Name).List(ctx, metav1.ListOptions{FieldSelector: selector.String()})
		if err != nil {
			return err
		}
		var seen []string
		for i := range list.Items {
			e := list.Items[i].Reason + ": " + list.Items[i].Message
			if strings.Contains(e, text) {
				return nil
			}
			seen = append(seen, e)
		}
		return fmt.Errorf("events %q", seen)
	})
}

// byPlimsollAlone ends the test if another than Plimsoll changed the count.
func byPlimsollAlone(t *testing.T, changes *harness.Changes) {
	t.Helper()
	for _, change := range changes.All() {
		if change.By != plimsoll {
			t.Errorf("%s scaled from %d to %d", change.By, change.From, change.To)
		}
	}
}

// queue is an HPA of the Deployment web with so many waiting jobs for each replica.
func queue(perReplica string) *autoscalingv2.HorizontalPodAutoscaler {
	hpa := harness.Autoscaler("web", harness.QueueLength("jobs", harness.AverageValue(perReplica)))
	hpa.Spec.Behavior = harness.DownAtOnce()
	return hpa
}
