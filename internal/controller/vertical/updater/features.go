package updater

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscaling "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
	observe "github.com/plimsoll-dev/plimsoll/internal/observe/vertical"
)

// sayFeatures says on each object what it asks for in vain, and tells of it once.
func (c *Controller) sayFeatures(ctx context.Context) {
	has := report.Features{
		InPlace: c.cfg.Gates.InPlace, CPUStartupBoost: c.cfg.Gates.CPUStartupBoost, PerVPAConfig: c.cfg.Gates.PerVPAConfig,
		PodsResize: c.cfg.Resizes == nil || c.cfg.Resizes(),
	}
	for _, object := range c.cfg.Autoscalers.GetStore().List() {
		vpa, ok := object.(*autoscaling.VerticalPodAutoscaler)
		if !ok || !c.isOurs(vpa) {
			continue
		}
		missing, is := report.Missing(observe.AskedOf(&vpa.Spec), has)
		c.sayFeature(ctx, vpa, missing, is)
	}
}

func (c *Controller) sayFeature(ctx context.Context, vpa *autoscaling.VerticalPodAutoscaler, missing report.Condition, is bool) {
	isFeature := func(c autoscaling.VerticalPodAutoscalerCondition) bool { return c.Type == report.FeatureType }
	said := slices.ContainsFunc(vpa.Status.Conditions, isFeature)
	if !is && !said {
		return
	}
	written, err := c.cfg.Statuses.UpdateStatus(ctx, vpa, func(s *autoscaling.VerticalPodAutoscalerStatus) bool {
		if is {
			return set(s, autoscaling.VerticalPodAutoscalerCondition{
				Type: report.FeatureType, Status: corev1.ConditionTrue, Reason: missing.Reason, Message: missing.Message, LastTransitionTime: metav1.Now(),
			})
		}
		before := len(s.Conditions)
		s.Conditions = slices.DeleteFunc(s.Conditions, isFeature)
		return len(s.Conditions) != before
	})
	if err != nil {
		c.cfg.Log.V(1).Info("a condition could not be written", "vpa", vpa.Namespace+"/"+vpa.Name, "error", err.Error())
		return
	}
	if is && written != nil {
		c.cfg.Events.Event(vpa, corev1.EventTypeWarning, report.FeatureType, missing.Message)
	}
}
