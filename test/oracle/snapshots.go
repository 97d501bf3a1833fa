package oracle

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
)

// bubble is when virtual time begins.
var bubble = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Save writes the timeline up to a step into a file of the folder, for plimsoll
// evaluate, with what upstream did as a comment.
func (l *Timeline) Save(folder string, last int) (path string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path = filepath.Join(folder, fmt.Sprintf("seed-%d-timeline-%d.yaml", l.Seed, l.Number))
	file, err := os.Create(path)
	if err != nil {
		return "", err
	}
	defer func() {
		if closeErr := file.Close(); err == nil {
			err = closeErr
		}
	}()
	return path, l.Encode(file, last)
}

// Encode writes the timeline up to a step as a stream of snapshots.
func (l *Timeline) Encode(w io.Writer, last int) error {
	var status autoscalingv2.HorizontalPodAutoscalerStatus
	for i, s := range l.Situations[:last+1] {
		if s.Recreate {
			status = autoscalingv2.HorizontalPodAutoscalerStatus{}
		}
		if _, err := fmt.Fprintf(w, "# step %d; upstream:\n# %s\n", i,
			strings.Join(lines(&l.Upstream[i]), "\n# ")); err != nil {
			return err
		}
		if err := snapshothorizontal.Encode(w, s.snapshot(&status)); err != nil {
			return err
		}
		status = l.Upstream[i].Status
	}
	return nil
}

func (s *Situation) snapshot(status *autoscalingv2.HorizontalPodAutoscalerStatus) *snapshothorizontal.Step {
	step := &snapshothorizontal.Step{
		Snapshot: &snapshothorizontal.Snapshot{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object}, Time: s.decided(),
		},
		HPA: &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: object, UID: types.UID(object)},
			Spec:       s.Spec, Status: *status,
		},
		Scale: &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: target},
			Spec:       autoscalingv1.ScaleSpec{Replicas: s.Scale.Spec},
			Status:     autoscalingv1.ScaleStatus{Replicas: s.Scale.Status, Selector: s.Scale.Selector},
		},
		Pods: s.Pods,
	}
	// As it was answered: a selector that cannot be read is not asked with.
	if list, err := s.Answers.resource(s.Scale.Selector); err == nil {
		step.AddPodMetrics(list)
	}
	for i := range s.Spec.Metrics {
		if text := s.answered(step, i); text != "" {
			step.Snapshot.Errors = append(step.Snapshot.Errors, snapshothorizontal.Error{MetricIndex: i, Message: text})
		}
	}
	return step
}

// decided is when the step is decided: a controller that has just been started
// fills its caches first.
func (s *Situation) decided() time.Time {
	if s.Restart {
		return bubble.Add(s.At + settle)
	}
	return bubble.Add(s.At)
}

// answered adds the answer to a metric, or returns the error.
func (s *Situation) answered(step *snapshothorizontal.Step, i int) string {
	metric := &s.Spec.Metrics[i]
	name := ""
	switch metric.Type {
	case autoscalingv2.PodsMetricSourceType:
		name = metric.Pods.Metric.Name
	case autoscalingv2.ObjectMetricSourceType:
		name = metric.Object.Metric.Name
	case autoscalingv2.ExternalMetricSourceType:
		name = metric.External.Metric.Name
	default:
		return s.Answers.ResourceError
	}
	if text := s.Answers.Errors[name]; text != "" {
		return text
	}
	switch metric.Type {
	case autoscalingv2.PodsMetricSourceType:
		step.AddPodValues(i, s.Answers.Custom[name])
	case autoscalingv2.ObjectMetricSourceType:
		step.AddObjectValue(i, s.Answers.Custom[name].Items[0])
	default:
		step.AddSeries(i, s.Answers.External[name])
	}
	return ""
}
