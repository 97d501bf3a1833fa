package vertical

import (
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/histogram"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/usage"
)

// AnnotationOpen has the state that upstream's checkpoint lacks: the open memory windows, and the peaks after running
// out of memory in them.
const AnnotationOpen = "plimsoll.dev/open-windows"

// CheckpointOf reads a checkpoint, upstream's or Plimsoll's. An unreadable annotation is ignored, and isWhole is false.
func CheckpointOf(object *vpav1.VerticalPodAutoscalerCheckpoint) (saved usage.Checkpoint, isWhole bool, err error) {
	status := &object.Status
	if status.Version != usage.Version {
		return usage.Checkpoint{}, false, fmt.Errorf("version %q instead of %s", status.Version, usage.Version)
	}
	saved = usage.Checkpoint{
		First: status.FirstSampleStart.Time, Last: status.LastSampleStart.Time, Samples: status.TotalSamplesCount,
	}
	saved.Use[vertical.CPU] = histogramOf(&status.CPUHistogram)
	saved.Use[vertical.Memory] = histogramOf(&status.MemoryHistogram)
	text, annotated := object.Annotations[AnnotationOpen]
	if !annotated || text == "" {
		return saved, true, nil
	}
	open := &usage.Open{}
	if err := json.Unmarshal([]byte(text), open); err != nil {
		return saved, false, nil //nolint:nilerr // the rest of the checkpoint is worth more than the reason
	}
	saved.Open = open
	return saved, true, nil
}

func histogramOf(h *vpav1.HistogramCheckpoint) histogram.Checkpoint {
	return histogram.Checkpoint{Reference: h.ReferenceTimestamp.Time, Weights: h.BucketWeights, Total: h.TotalWeight}
}

// CheckpointStatus returns the checkpoint of a container, as of now, and its annotation. The annotation is empty if no
// window is open, so that an earlier one does not stay.
func CheckpointStatus(
	saved *usage.Checkpoint, now time.Time,
) (vpav1.VerticalPodAutoscalerCheckpointStatus, map[string]string, error) {
	status := vpav1.VerticalPodAutoscalerCheckpointStatus{
		LastUpdateTime:    metav1.NewTime(now),
		Version:           usage.Version,
		CPUHistogram:      histogramStatus(&saved.Use[vertical.CPU]),
		MemoryHistogram:   histogramStatus(&saved.Use[vertical.Memory]),
		FirstSampleStart:  metav1.NewTime(saved.First),
		LastSampleStart:   metav1.NewTime(saved.Last),
		TotalSamplesCount: saved.Samples,
	}
	text := ""
	if saved.Open != nil {
		encoded, err := json.Marshal(saved.Open)
		if err != nil {
			return status, nil, fmt.Errorf("open windows: %w", err)
		}
		text = string(encoded)
	}
	return status, map[string]string{AnnotationOpen: text}, nil
}

func histogramStatus(h *histogram.Checkpoint) vpav1.HistogramCheckpoint {
	return vpav1.HistogramCheckpoint{
		ReferenceTimestamp: metav1.NewTime(h.Reference), BucketWeights: h.Weights, TotalWeight: h.Total,
	}
}
