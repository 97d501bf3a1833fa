package keda

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// The triggers whose scalers choose the type of the target themselves, whatever metricType is.
const (
	datadogTrigger             = "datadog"
	splunkObservabilityTrigger = "splunk-observability"
)

// scaler converts a trigger to a metric that plimsoll-scalers reads, with the scaler that KEDA has for it.
func (r *reader) scaler(i int) {
	s := plimsollv1alpha1.ScalerMetricSource{
		Type: r.trigger.Type, Metadata: r.bounded(r.trigger.Metadata), IntervalSeconds: r.intervalOfScaler(),
		// KEDA does not bound the time that a scaler takes.
		TimeoutSeconds: ptr.To(int32(maxTimeout / time.Second)),
	}
	if to := referenceOf(r.trigger.AuthenticationRef); to.Name != "" {
		s.AuthenticationRef = &plimsollv1alpha1.TriggerAuthenticationReference{
			Name: to.Name, Kind: plimsollv1alpha1.TriggerAuthenticationKind(to.Kind),
		}
		r.noteAuthentication(to)
	}
	var ok bool
	if s.Target, ok = r.targetOfScaler(); !ok {
		return
	}
	if s.Target == nil {
		s.Target = r.targetOfKEDA(i)
	}
	for _, name := range r.namesToSelect(i) {
		named := s
		named.MetricName = name
		r.out().Metrics = append(r.out().Metrics, plimsollv1alpha1.MetricSpec{
			Type: plimsollv1alpha1.ScalerMetricSourceType, Scaler: &named,
		})
	}
	r.Note(r.at, "%s: read by plimsoll-scalers, which must be installed, with KEDA's scaler", r.trigger.Type)
}

// noteAuthentication notes what a TriggerAuthentication needs without KEDA's operator.
func (r *reader) noteAuthentication(to Reference) {
	at := r.at + ".authenticationRef"
	r.Note(at, "the %s stays in use, so its definition must stay installed", to)
	hasSecrets, hasIdentity := true, false
	if object := r.Authentications[to]; object != nil {
		spec, _, _ := unstructured.NestedMap(object.Object, "spec")
		provider, _, _ := unstructured.NestedString(spec, "podIdentity", "provider")
		hasIdentity = provider != "" && provider != "none"
		_, alone := spec["podIdentity"]
		hasSecrets = !alone || len(spec) > 1
	}
	if to.Kind == ClusterAuthenticationKind && hasSecrets {
		r.Note(at, "%s: its Secrets are read in the namespace of plimsoll-scalers, or in that of "+
			"KEDA_CLUSTER_OBJECT_NAMESPACE: copy them there", to)
	}
	if hasIdentity {
		r.Note(at, "%s: give the pod identity to plimsoll-scalers", to)
	}
}

// targetOfKEDA returns the target of a scaler that chooses its type itself. KEDA's HPA shows it, if there is one.
func (r *reader) targetOfKEDA(i int) *plimsollv1alpha1.ExternalScalerTarget {
	inTotal := r.trigger.Type == splunkObservabilityTrigger
	for _, name := range r.metricNames(i) {
		if target, found := r.targetOfHPA(fmt.Sprintf("s%d-%s", i, name)); found {
			inTotal = target.Type == plimsollv1alpha1.ValueMetricType
		}
	}
	if inTotal {
		return &plimsollv1alpha1.ExternalScalerTarget{Type: plimsollv1alpha1.ValueMetricType}
	}
	if r.trigger.Type == datadogTrigger && strings.EqualFold(r.trigger.Metadata["type"], "global") {
		r.Note(r.at+".metadata.type", "KEDA %s ignores it: the target stays one for each pod; target.type: Value makes it "+
			"one for all", scaledobject.Version)
	}
	return nil
}

// intervalOfScaler returns how often KEDA calls the scaler: at each poll, and without a cache at each request of the
// HPA.
func (r *reader) intervalOfScaler() *int32 {
	if interval := r.interval(); interval != nil {
		return interval
	}
	most := int32(syncPeriod / time.Second)
	return ptr.To(max(1, min(ptr.Deref(r.spec.PollingInterval, defaultPolling), most)))
}

// usesEnvironment reports whether the metadata names environment variables that plimsoll-scalers reads.
func (c *conversion) usesEnvironment(t *scaledobject.Trigger) bool {
	switch t.Type {
	case scaledobject.TypeCPU, scaledobject.TypeMemory, scaledobject.TypeCron, scaledobject.TypeExternal,
		scaledobject.TypeExternalPush:
		return false
	}
	for key := range t.Metadata {
		if strings.HasSuffix(key, metadataFieldOfEnv) {
			return true
		}
	}
	return false
}

// environment reports the loss of envSourceContainerName where a trigger needs it.
func (c *conversion) environment() {
	const at = "spec.scaleTargetRef.envSourceContainerName"
	name := c.spec.ScaleTargetRef.EnvSourceContainerName
	switch {
	case name == "":
	case !c.IsNative:
		c.Note(at, "KEDA still uses it, from the ScaledObject")
	default:
		for i := range c.spec.Triggers {
			if c.usesEnvironment(&c.spec.Triggers[i]) {
				c.Lose(at, "%s: plimsoll-scalers reads the environment of the first container", name)
				return
			}
		}
	}
}
