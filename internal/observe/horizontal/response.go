package horizontal

import (
	custommetricsv1beta2 "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	externalmetricsv1beta1 "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
)

// Response is the response of a metrics API for one metric. It is empty if the core itself refuses the metric, so that
// there is no request.
type Response struct {
	Resource *metricsv1beta1.PodMetricsList
	Custom   *custommetricsv1beta2.MetricValueList
	External *externalmetricsv1beta1.ExternalMetricValueList
	Err      error
}

// Reading translates the response to metric i.
func (a *Answers) Reading(i int, r *Response) metric.Reading {
	if r.Err != nil {
		return Failed(r.Err)
	}
	switch a.policy.Metrics[i].Type {
	case source.Pods:
		return a.Pods(i, r.Custom)
	case source.Object:
		return a.Object(i, single(r.Custom))
	case source.External:
		return a.External(i, r.External)
	default:
		return a.Resource(i, r.Resource)
	}
}

func single(list *custommetricsv1beta2.MetricValueList) *custommetricsv1beta2.MetricValue {
	if list == nil || len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}
