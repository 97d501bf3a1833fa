package simulate

import (
	"fmt"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/simulate"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
)

// asRecorded sets the pods' requests from the record, if there is one and no flag sets them.
func (f *simulateFlags) asRecorded(w *simulate.Workload) {
	if f.recorded != nil && f.cpu == 0 && !f.recorded.Request(w) {
		f.recorded.Notes = append(f.recorded.Notes, "--cpu-request or --workload say what a pod requests")
	}
}

// pod returns the pods that the autoscaler scales: from the workload's manifest, with the values of flags.
func (f *simulateFlags) pod(
	autoscaler observehorizontal.Autoscaler, objects []manifest.Object,
) (simulate.Workload, error) {
	w, ref := f.pods, autoscaler.Target()
	if f.workload != "" {
		var err error
		if objects, err = manifest.ReadFile(f.workload); err != nil {
			return w, fmt.Errorf("--workload: %w", err)
		}
	}
	target := manifest.Target(objects, ref)
	if target == nil && f.workload != "" {
		return w, fmt.Errorf("--workload: %s: there is no %s %s in it, which the autoscaler scales",
			f.workload, ref.Kind, ref.Name)
	}
	if target != nil {
		if err := target.Fill(&w); err != nil {
			return w, err
		}
		w.ServeIn(simulate.ServingContainer(autoscaler))
	}
	if target == nil {
		f.asRecorded(&w)
		f.isPodMadeUp = f.recorded == nil && f.cpu == 0
	}
	if f.cpu > 0 {
		w.CPURequestMilli, w.Pod, w.Containers = float64(f.cpu), nil, 1
	}
	if f.limit > 0 {
		w.CPULimitMilli = float64(f.limit)
	}
	if f.readyAfter > 0 {
		w.ReadyAfter = f.readyAfter
	}
	w.Profile.CPUPerRequestMilliCoreSeconds, w.Profile.StartupCPUMilli = float64(f.perRequest), float64(f.startUpCPU)
	if target == nil && f.cpu > 0 {
		w.Name = "a pod of " + f.cpu.String()
	}
	w.Complete()
	if f.startUpFor > 0 {
		w.Profile.Startup = f.startUpFor
	}
	return w, nil
}
