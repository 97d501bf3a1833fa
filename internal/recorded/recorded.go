// Package recorded has the load that Plimsoll recorded of an object of a cluster, and the object itself, in the form in
// which a simulation plays them.
package recorded

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

// Object is an object of a cluster, its workload if that could be read, and its load in pods at the target.
type Object struct {
	Key        observe.Key
	Load       *load.Load
	Autoscaler observehorizontal.Autoscaler
	// Manifests are the autoscaler and, unless it could not be read, its target.
	Manifests []manifest.Object
	// perPodMilli is the latest load of one pod at the target; 0 if it is unknown.
	perPodMilli float64
	// Notes has notes for the reader of a simulation.
	Notes []string
}

// Read reads the object, its load of the last part of the time up to now, and its target.
func Read(
	ctx context.Context, reader *explainer.ClusterReader, key observe.Key, last time.Duration, now time.Time,
) (*Object, error) {
	r := &Object{Key: key}
	err := r.read(ctx, reader, last, now)
	return r, err
}

// read reads the object, its load and its target.
func (r *Object) read(ctx context.Context, reader *explainer.ClusterReader, last time.Duration, now time.Time) error {
	var err error
	if r.Autoscaler, err = reader.Autoscaler(ctx, r.Key); err != nil {
		return err
	}
	report, err := reader.Report(ctx, r.Key, last, now)
	if err != nil {
		return err
	}
	if err := r.take(report); err != nil {
		return err
	}
	own, err := manifest.FromValue("the cluster", typed(r.Autoscaler))
	if err != nil {
		return err
	}
	r.Manifests = []manifest.Object{own}
	target, err := reader.ScaleTarget(ctx, r.Key.Namespace, r.Autoscaler.Target())
	if err != nil {
		r.note("the pods' requests are not known exactly: %v", err)
		return nil
	}
	workload, err := manifest.FromValue("the cluster", target)
	r.Manifests = append(r.Manifests, workload)
	return err
}

// typed is the object with its kind and version, which clients leave out.
func typed(a observehorizontal.Autoscaler) any {
	if a.IsWorkload() {
		own := a.Workload.DeepCopy()
		own.APIVersion, own.Kind = plimsollv1alpha1.SchemeGroupVersion.String(), plimsollv1alpha1.Kind
		return own
	}
	own := a.HPA.DeepCopy()
	own.APIVersion, own.Kind = autoscalingv2.SchemeGroupVersion.String(), manifest.HPAKind
	return own
}

func (r *Object) take(report *loadreport.Report) error {
	line := &report.Timeline
	name := strings.ToLower(r.Key.Kind.String()) + "/" + r.Key.Name
	var err error
	if r.Load, err = load.FromValues(name, line.Start, line.Step, line.Loads()); err != nil {
		return err
	}
	for i := range line.Cells {
		if perPod := line.Cells[i].PerPodMilli; perPod > 0 {
			r.perPodMilli = perPod
		}
	}
	r.note("the load of %s %s from %s to %s, in pods at the target, %s", r.Key.Kind, r.Key.NamespacedName,
		r.Load.Start.Format(time.RFC3339), r.Load.Start.Add(r.Load.Length).Format(time.RFC3339),
		report.Source.Text(report.To))
	if missing := r.Load.Missing(); missing > 0 {
		r.note("for %v of it the load is not known: what was known before goes on there", missing)
	}
	return nil
}

func (r *Object) note(format string, values ...any) {
	r.Notes = append(r.Notes, fmt.Sprintf(format, values...))
}

// Request changes the pods to those that the record tells of, where the target could not be read: if the only metric
// is CPU with a utilization target, what a pod served at the target is that part of its request. Otherwise that is not
// known.
func (r *Object) Request(w *simulate.Workload) (ok bool) {
	percent := int32(0)
	if r.Autoscaler.NumMetrics() == 1 {
		m := r.Autoscaler.Metric(0)
		if string(m.Type) == string(autoscalingv2.ResourceMetricSourceType) && m.Name == string(corev1.ResourceCPU) {
			percent = ptr.Deref(m.Target.AverageUtilization, 0)
		}
	}
	if percent <= 0 || r.perPodMilli <= 0 {
		r.note("a pod is taken to request %.0fm of CPU", w.CPURequestMilli)
		return false
	}
	w.CPURequestMilli = math.Max(1, math.Round(r.perPodMilli*100/float64(percent)))
	w.Name = fmt.Sprintf("a pod of %.0fm", w.CPURequestMilli)
	r.note("as recorded, a pod requests %.0fm of CPU", w.CPURequestMilli)
	return true
}
