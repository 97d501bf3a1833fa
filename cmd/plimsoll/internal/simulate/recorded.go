package simulate

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/pflag"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/explainer"
	"github.com/plimsoll-dev/plimsoll/internal/explain/leader"
	"github.com/plimsoll-dev/plimsoll/internal/explain/loadreport"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory/timeline"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/load"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

// recordedFlags are those about the load that Plimsoll recorded of an object of a cluster.
type recordedFlags struct {
	from   string
	last   time.Duration
	finder leader.Finder
	kube   *genericclioptions.ConfigFlags
}

// shortestLast is the shortest time that is worth a simulation.
const shortestLast = time.Minute

func (f *recordedFlags) add(fs *pflag.FlagSet) {
	f.kube = genericclioptions.NewConfigFlags(true)
	// --as chooses the loop here.
	f.kube.Impersonate, f.kube.ImpersonateUID, f.kube.ImpersonateGroup, f.kube.ImpersonateUserExtra = nil, nil, nil, nil
	fs.StringVar(&f.from, "from", "",
		"hpa/NAME or wla/NAME: play the load that Plimsoll recorded of this object of a cluster, against the object as it "+
			"is and against what --set and --hpa name.")
	fs.DurationVar(&f.last, "last", 24*time.Hour, "How much of that load, up to now.")
	flags.AddFinder(fs, &f.finder)
	f.kube.AddFlags(fs)
}

// recorded is what --from has read: an object of a cluster, its workload if that could be read, and its load in pods at
// the target.
type recorded struct {
	object     observe.Key
	load       *load.Load
	autoscaler observehorizontal.Autoscaler
	// objects are the autoscaler and, unless it could not be read, its target.
	objects []manifest.Object
	// perPodMilli is what one pod served at the target at last, 0 if that is not known.
	perPodMilli float64
	// notes are what the user must know of it.
	notes []string
}

// record reads what --from names; nil without it.
func (f *simulateFlags) record(ctx context.Context, now time.Time) (*recorded, error) {
	switch {
	case f.recordedFlags.from == "":
		return nil, nil
	case f.load != "":
		return nil, cmderror.Usagef("--from: it has the load already: leave out --load")
	case f.podCapacity != 0:
		return nil, cmderror.Usagef("--from: the load is in pods at the target: leave out --pod-capacity")
	case f.last < shortestLast || f.last > timeline.Longest:
		return nil, cmderror.Usagef("--last: %v, want %v to %v, for which histories are kept", f.last, shortestLast,
			timeline.Longest)
	}
	kind, name, err := flags.ParseAutoscaler([]string{f.from})
	if err != nil || kind == observe.VerticalPodAutoscaler {
		return nil, cmderror.Usagef("--from: %q, want hpa/NAME or wla/NAME", f.from)
	}
	namespace, err := flags.Namespace(f.kube)
	if err != nil {
		return nil, err
	}
	config, err := flags.RESTConfig(f.kube, "plimsoll-simulate")
	if err != nil {
		return nil, err
	}
	reader, err := explainer.NewClusterReader(config, f.finder, explainer.Options{Controller: explainer.Auto})
	if err != nil {
		return nil, err
	}
	r := &recorded{object: observe.Key{
		NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}, Kind: kind,
	}}
	if err := r.read(ctx, reader, f.last, now); err != nil {
		return nil, complete.Similar(ctx, config, err)
	}
	return r, nil
}

// read reads the object, its load and its target.
func (r *recorded) read(ctx context.Context, reader *explainer.ClusterReader, last time.Duration, now time.Time) error {
	var err error
	if r.autoscaler, err = reader.Autoscaler(ctx, r.object); err != nil {
		return err
	}
	report, err := reader.Report(ctx, r.object, last, now)
	if err != nil {
		return err
	}
	if err := r.take(report); err != nil {
		return err
	}
	own, err := manifest.FromValue("the cluster", typed(r.autoscaler))
	if err != nil {
		return err
	}
	r.objects = []manifest.Object{own}
	target, err := reader.ScaleTarget(ctx, r.object.Namespace, r.autoscaler.Spec.ScaleTargetRef)
	if err != nil {
		r.note("the pods' requests are not known exactly: %v", err)
		return nil
	}
	workload, err := manifest.FromValue("the cluster", target)
	r.objects = append(r.objects, workload)
	return err
}

// typed is the object with its kind and version, which clients leave out.
func typed(a observehorizontal.Autoscaler) any {
	if a.Workload != nil {
		own := a.Workload.DeepCopy()
		own.APIVersion, own.Kind = plimsollv1alpha1.SchemeGroupVersion.String(), plimsollv1alpha1.Kind
		return own
	}
	own := a.HorizontalPodAutoscaler.DeepCopy()
	own.APIVersion, own.Kind = autoscalingv2.SchemeGroupVersion.String(), manifest.HPAKind
	return own
}

// take has the load of a report.
func (r *recorded) take(report *loadreport.Report) error {
	line := &report.Timeline
	name := strings.ToLower(r.object.Kind.String()) + "/" + r.object.Name
	var err error
	if r.load, err = load.FromValues(name, line.Start, line.Step, line.Loads()); err != nil {
		return err
	}
	for i := range line.Cells {
		if perPod := line.Cells[i].PerPodMilli; perPod > 0 {
			r.perPodMilli = perPod
		}
	}
	r.note("the load of %s %s from %s to %s, in pods at the target, %s", r.object.Kind, r.object.NamespacedName,
		r.load.Start.Format(time.RFC3339), r.load.Start.Add(r.load.Length).Format(time.RFC3339),
		report.Source.Text(report.To))
	if missing := r.load.Missing(); missing > 0 {
		r.note("for %v of it the load is not known: what was known before goes on there", missing)
	}
	return nil
}

func (r *recorded) note(format string, values ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, values...))
}

// writeNotes writes the notes; there are none without --from.
func (r *recorded) writeNotes(out io.Writer) {
	if r == nil {
		return
	}
	for _, note := range r.notes {
		fmt.Fprintf(out, "note: %s\n", note)
	}
}

// request changes the pods to those that the record tells of, where the target could not be read: if the only metric
// is CPU with a utilization target, what a pod served at the target is that part of its request.
func (r *recorded) request(w *simulate.Workload) {
	percent := int32(0)
	if metrics := r.autoscaler.Spec.Metrics; len(metrics) == 1 && metrics[0].Resource != nil &&
		metrics[0].Resource.Name == corev1.ResourceCPU && metrics[0].Resource.Target.AverageUtilization != nil {
		percent = *metrics[0].Resource.Target.AverageUtilization
	}
	if percent <= 0 || r.perPodMilli <= 0 {
		r.note("a pod is taken to request %.0fm of CPU; --cpu-request or --workload say otherwise", w.CPURequestMilli)
		return
	}
	w.CPURequestMilli = math.Max(1, math.Round(r.perPodMilli*100/float64(percent)))
	w.Name = fmt.Sprintf("a pod of %.0fm", w.CPURequestMilli)
	r.note("as recorded, a pod requests %.0fm of CPU", w.CPURequestMilli)
}

// podCapacity is what a pod serves of the load at 100 % of its request: at the target of the object as it is in the
// cluster it serves 1.
func (r *recorded) podCapacity(w simulate.Workload) (float64, error) {
	s, err := simulate.NewScene(r.load, w, r.autoscaler)
	if err != nil {
		return 0, err
	}
	return 1 / s.Target, nil
}
