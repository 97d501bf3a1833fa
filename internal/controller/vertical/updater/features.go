package updater

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// features reports settings of objects that have no effect, because a feature gate is off or the cluster lacks support.
type features struct {
	gates observevertical.Gates
	// resizes reports whether the API server can resize pods; nil if it can.
	resizes    func() bool
	objects    cache.Store
	isOurs     func(*vpav1.VerticalPodAutoscaler) bool
	conditions *conditionWriter
	events     record.EventRecorder
}

// report sets a condition on each object with such a setting, with one event.
func (f *features) report() {
	has := report.Features{
		InPlace: f.gates.InPlace, CPUStartupBoost: f.gates.CPUStartupBoost, PerVPAConfig: f.gates.PerVPAConfig,
		PodsResize: f.resizes == nil || f.resizes(),
	}
	for _, object := range f.objects.List() {
		if vpa, ok := object.(*vpav1.VerticalPodAutoscaler); ok && f.isOurs(vpa) {
			f.reportOne(vpa, has)
		}
	}
}

func (f *features) reportOne(vpa *vpav1.VerticalPodAutoscaler, has report.Features) {
	missing, is := report.Missing(observevertical.RequestOf(&vpa.Spec), has)
	isFeature := func(c vpav1.VerticalPodAutoscalerCondition) bool { return c.Type == report.FeatureType }
	switch {
	case is:
		f.conditions.Set(vpa, missing, func() {
			f.events.Event(vpa, corev1.EventTypeWarning, report.FeatureType, missing.Message)
		})
	case slices.ContainsFunc(vpa.Status.Conditions, isFeature):
		f.conditions.Remove(vpa, report.FeatureType)
	}
}
