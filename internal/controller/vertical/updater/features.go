package updater

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/condition"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	observevertical "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// reportFeatures says on each object what it asks for in vain, and tells of it once.
func (c *Controller) reportFeatures() {
	has := report.Features{
		InPlace: c.cfg.Gates.InPlace, CPUStartupBoost: c.cfg.Gates.CPUStartupBoost, PerVPAConfig: c.cfg.Gates.PerVPAConfig,
		PodsResize: c.cfg.Resizes == nil || c.cfg.Resizes(),
	}
	for _, object := range c.cfg.Autoscalers.GetStore().List() {
		vpa, ok := object.(*vpav1.VerticalPodAutoscaler)
		if !ok || !c.workloads.IsOurs(vpa) {
			continue
		}
		missing, is := report.Missing(observevertical.RequestOf(&vpa.Spec), has)
		c.reportFeature(vpa, missing, is)
	}
}

func (c *Controller) reportFeature(vpa *vpav1.VerticalPodAutoscaler, missing condition.Condition, is bool) {
	isFeature := func(c vpav1.VerticalPodAutoscalerCondition) bool { return c.Type == report.FeatureType }
	if !is && !slices.ContainsFunc(vpa.Status.Conditions, isFeature) {
		return
	}
	if !is {
		c.conditions.Remove(vpa, report.FeatureType)
		return
	}
	c.conditions.Set(vpa, missing, func() {
		c.cfg.Events.Event(vpa, corev1.EventTypeWarning, report.FeatureType, missing.Message)
	})
}
