package keda

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
)

// syncPeriod is how often kube-controller-manager requests a metric by default, and with
// it how often KEDA counts a failure.
const syncPeriod = 15 * time.Second

// leastSyncPeriod is the smallest syncPeriodSeconds of a WorkloadAutoscaler.
const leastSyncPeriod = 3

// HPAName returns the name of the HPA that KEDA creates for a ScaledObject.
func HPAName(object *unstructured.Unstructured) string {
	if name, _, _ := unstructured.NestedString(object.Object, "status", "hpaName"); name != "" {
		return name
	}
	name, _, _ := unstructured.NestedString(object.Object, "spec", "advanced", "horizontalPodAutoscalerConfig", "name")
	if name != "" {
		return name
	}
	return "keda-hpa-" + object.GetName()
}

// DecodeHPA returns the HPA that KEDA created; nil if it is missing or unreadable.
func DecodeHPA(raw *unstructured.Unstructured) *autoscalingv2.HorizontalPodAutoscaler {
	if raw == nil {
		return nil
	}
	hpa := &autoscalingv2.HorizontalPodAutoscaler{}
	if _, err := typed.Decode(raw.Object, hpa, nil); err != nil {
		return nil
	}
	return hpa
}

// IsPaused reports whether KEDA does not scale the target, because of an annotation.
func IsPaused(object *unstructured.Unstructured) bool {
	_, has := object.GetAnnotations()[AnnotationPausedReplicas]
	return has || isTrue(object.GetAnnotations(), AnnotationPaused)
}

// isTrue reports whether an annotation is there and is not false.
func isTrue(annotations map[string]string, key string) bool {
	value, has := annotations[key]
	on, err := strconv.ParseBool(value)
	return has && (on || err != nil)
}

// conversion is one of a ScaledObject.
type conversion struct {
	convert.Result

	object *unstructured.Unstructured
	spec   scaledobject.Spec
	status status

	Options
}

// Options are settings for the conversion of a ScaledObject, and additional inputs.
type Options struct {
	// HPA is the one that KEDA created for it, which has the names and targets of its external metrics; nil if unknown.
	HPA *autoscalingv2.HorizontalPodAutoscaler
	// IsNative converts the triggers prometheus, external and external-push to metrics that Plimsoll reads itself.
	IsNative bool
	// IsWithoutCredentials leaves the credentials of Prometheus metrics out.
	IsWithoutCredentials bool
	// Authentications has the TriggerAuthentications that its triggers name, as far as they are known.
	Authentications map[Reference]*unstructured.Unstructured
	// IsFromFiles is set if all of this was read from files.
	IsFromFiles bool
}

// FromScaledObject converts a ScaledObject.
func FromScaledObject(object *unstructured.Unstructured, options Options) (*convert.Result, error) {
	if err := typed.CheckMetadata(object.Object); err != nil {
		return nil, err
	}
	c := &conversion{object: object, Options: options}
	c.WorkloadAutoscaler = convert.New(object)
	raw, err := typed.Spec(object.Object)
	if err != nil {
		return nil, err
	}
	unknown, err := typed.Decode(raw, &c.spec, field.NewPath("spec"))
	if err != nil {
		return nil, err
	}
	for _, name := range unknown {
		c.Lose("spec."+name, "this field of a ScaledObject is unknown")
	}
	if text, err := json.Marshal(object.Object["status"]); err == nil {
		// An unreadable status has no names.
		_ = json.Unmarshal(text, &c.status)
	}
	c.limits()
	c.CheckTarget()
	if err := c.advanced(); err != nil {
		return nil, err
	}
	for i := range c.spec.Triggers {
		c.trigger(i, &c.spec.Triggers[i])
	}
	c.Finish()
	c.fallback()
	c.zero()
	c.annotations()
	return &c.Result, nil
}

func (c *conversion) out() *plimsollv1alpha1.WorkloadAutoscalerSpec {
	return &c.WorkloadAutoscaler.Spec
}

func (c *conversion) limits() {
	s, out := &c.spec, c.out()
	out.ScaleTargetRef = plimsollv1alpha1.CrossVersionObjectReference(s.Target())
	least, most := s.Bounds()
	out.MinReplicas, out.MaxReplicas = &least, most
	c.idle()
	if p := s.PollingInterval; p != nil {
		if *p > 0 && time.Duration(*p)*time.Second < syncPeriod {
			out.SyncPeriodSeconds = ptr.To(max(*p, leastSyncPeriod))
		} else {
			c.Note("spec.pollingInterval", "not needed: metrics are read in every sync period")
		}
	}
	c.environment()
}

// idle converts the settings for scaling the target to zero, or to another count below minReplicaCount.
func (c *conversion) idle() {
	least, idle := c.out().MinReplicas, c.spec.IdleReplicaCount
	if field, why := c.activeAlways(); field != "" {
		if *least == 0 || idle != nil {
			*least = max(1, *least)
			c.Note(field, "%s: minReplicas becomes %d", why, *least)
		}
		return
	}
	if idle == nil {
		return
	}
	switch {
	case *idle != 0:
		c.Lose("spec.idleReplicaCount", "%d: a WorkloadAutoscaler has no idle count but 0", *idle)
		return
	case *least > 1:
		c.Lose("spec.idleReplicaCount", "minReplicas becomes 0: the first replica comes back alone, not %d at once", *least)
	}
	*least = 0
}

// activeAlways returns the field because of which KEDA never scales the target to zero, and why; empty if there is
// none.
func (c *conversion) activeAlways() (field, why string) {
	isOther := func(t scaledobject.Trigger) bool { return !t.IsResource() }
	switch {
	case isTrue(c.object.GetAnnotations(), annotationForceActivation):
		return "metadata.annotations[" + annotationForceActivation + "]", "KEDA keeps the target out of zero"
	case len(c.spec.Triggers) > 0 && !slices.ContainsFunc(c.spec.Triggers, isOther):
		return "spec.minReplicaCount", "KEDA keeps a target with triggers cpu and memory alone out of zero"
	}
	return "", ""
}

func (c *conversion) advanced() error {
	a := c.spec.Advanced
	if a == nil {
		return nil
	}
	if a.RestoreToOriginalReplicaCount {
		c.Lose("spec.advanced.restoreToOriginalReplicaCount",
			"the replica count stays as it is when a WorkloadAutoscaler is deleted")
	}
	if len(a.ScalingModifiers) > 0 {
		c.Lose("spec.advanced.scalingModifiers", "a WorkloadAutoscaler has no formulas over metrics")
	}
	if c.spec.Behavior() == nil {
		return nil
	}
	at := field.NewPath("spec", "advanced", "horizontalPodAutoscalerConfig", "behavior")
	c.out().Behavior = &plimsollv1alpha1.Behavior{}
	unknown, err := typed.Decode(c.spec.Behavior(), c.out().Behavior, at)
	if err != nil {
		return err
	}
	for _, name := range unknown {
		c.Lose(at.String()+"."+name, "a WorkloadAutoscaler has no such field")
	}
	return nil
}

// policies has the policies of a fallback by KEDA's names, which are its behaviors.
var policies = map[string]plimsollv1alpha1.FallbackPolicy{
	"": plimsollv1alpha1.FallbackStatic, "static": plimsollv1alpha1.FallbackStatic,
	"currentReplicas":         plimsollv1alpha1.FallbackCurrentReplicas,
	"currentReplicasIfHigher": plimsollv1alpha1.FallbackCurrentReplicasIfHigher,
	"currentReplicasIfLower":  plimsollv1alpha1.FallbackCurrentReplicasIfLower,
}

// fallback sets the ScaledObject's fallback for every external metric: KEDA applies it to these alone.
func (c *conversion) fallback() {
	f := c.spec.Fallback
	if f == nil {
		return
	}
	policy, ok := policies[f.Behavior]
	if !ok {
		c.Lose("spec.fallback.behavior", "%q is not known", f.Behavior)
		return
	}
	if f.Replicas < 1 && policy != plimsollv1alpha1.FallbackCurrentReplicas {
		c.Lose("spec.fallback.replicas", "%d: a fallback has at least 1 replica", f.Replicas)
		return
	}
	if f.FailureThreshold < 0 {
		c.Lose("spec.fallback.failureThreshold", "%d: KEDA refuses a number below 0", f.FailureThreshold)
		return
	}
	period := syncPeriod
	if slices.ContainsFunc(c.spec.Triggers, func(t scaledobject.Trigger) bool { return t.UseCachedMetrics }) {
		period = time.Duration(ptr.Deref(c.spec.PollingInterval, 30)) * time.Second
	}
	seconds, replicas := failureSeconds(f.FailureThreshold, period), f.Replicas
	if most := c.out().MaxReplicas; replicas > most && policy != plimsollv1alpha1.FallbackCurrentReplicas {
		c.Note("spec.fallback.replicas", "%d becomes %d: KEDA too scales to maxReplicaCount at most", replicas, most)
		replicas = most
	}
	isUsed := false
	for i := range c.out().Metrics {
		m := &c.out().Metrics[i]
		if !isExternal(m) {
			continue
		}
		isUsed = true
		m.Fallback = &plimsollv1alpha1.Fallback{FailureDurationSeconds: ptr.To(seconds), Policy: policy}
		if policy != plimsollv1alpha1.FallbackCurrentReplicas {
			m.Fallback.Replicas = ptr.To(replicas)
		}
	}
	switch {
	case isUsed:
	case slices.ContainsFunc(c.spec.Triggers, hasFallback):
		c.Lose("spec.fallback", "the triggers that it is for are not migrated")
		return
	default:
		c.Note("spec.fallback", "without effect: KEDA has fallbacks for external metrics")
		return
	}
	c.Note("spec.fallback.failureThreshold", "%d failures become %d s: KEDA counts one for each request of the HPA",
		f.FailureThreshold, seconds)
}

// hasFallback reports whether KEDA has fallbacks for metrics of such a trigger. A cron trigger does not fail.
func hasFallback(t scaledobject.Trigger) bool {
	return !t.IsResource() && t.Type != scaledobject.TypeCron
}

// isExternal reports whether the metric was an external one of KEDA's HPA.
func isExternal(m *plimsollv1alpha1.MetricSpec) bool {
	return m.External != nil || m.Prometheus != nil || m.ExternalScaler != nil || m.Scaler != nil
}

// zero sets the cooldown before the last replica is removed, and raises minReplicas if a WorkloadAutoscaler cannot
// scale to zero.
func (c *conversion) zero() {
	out := c.out()
	hasExternal := slices.ContainsFunc(out.Metrics,
		func(m plimsollv1alpha1.MetricSpec) bool { return isExternal(&m) })
	if *out.MinReplicas == 0 && len(out.Metrics) > 0 && !hasExternal {
		c.Lose("spec.minReplicaCount", "0 needs an external metric here; minReplicas becomes 1")
		out.MinReplicas = ptr.To[int32](1)
	}
	if *out.MinReplicas == 0 {
		out.ScaleToZero = &plimsollv1alpha1.ScaleToZero{
			CooldownSeconds: c.spec.CooldownPeriod, InitialCooldownSeconds: c.spec.InitialCooldownPeriod,
		}
		return
	}
	for i := range out.Metrics {
		if out.Metrics[i].ActivationValue != nil {
			out.Metrics[i].ActivationValue = nil
			c.Note("spec.triggers", "the activation value of %s is left out: it is about going to 0 and back",
				out.Metrics[i].Name)
		}
	}
	if c.spec.CooldownPeriod != nil || c.spec.InitialCooldownPeriod != nil {
		c.Note("spec.cooldownPeriod", "left out: it is about going to 0, and minReplicas is %d", *out.MinReplicas)
	}
}

func (c *conversion) annotations() {
	annotations, out := c.WorkloadAutoscaler.Annotations, c.out()
	if isTrue(annotations, AnnotationPaused) {
		out.Mode = plimsollv1alpha1.ModePaused
	}
	if text, has := annotations[AnnotationPausedReplicas]; has {
		replicas, err := strconv.ParseInt(strings.TrimSpace(text), 10, 32)
		if err != nil || replicas < 0 {
			c.Lose("metadata.annotations["+AnnotationPausedReplicas+"]", "%q is not a replica count", text)
		} else {
			c.pause(int32(replicas))
		}
	}
	disabled := plimsollv1alpha1.DisabledPolicySelect
	if isTrue(annotations, annotationPausedScaleIn) {
		c.behavior().ScaleDown = ptr.To(ptr.Deref(c.behavior().ScaleDown, plimsollv1alpha1.ScaleDownRules{}))
		c.behavior().ScaleDown.SelectPolicy = &disabled
	}
	if isTrue(annotations, annotationPausedScaleOut) {
		c.behavior().ScaleUp = ptr.To(ptr.Deref(c.behavior().ScaleUp, plimsollv1alpha1.ScaleUpRules{}))
		c.behavior().ScaleUp.SelectPolicy = &disabled
	}
	for label := range strings.SplitSeq(annotations[annotationExcludedLabels], ",") {
		// KEDA's HPA does not have these labels, and the WorkloadAutoscaler replaces the HPA too.
		delete(c.WorkloadAutoscaler.Labels, label)
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		prefix, _, _ := strings.Cut(key, "/")
		if prefix != kedaDomain && !strings.HasSuffix(prefix, "."+kedaDomain) {
			continue
		}
		if !slices.Contains(knownAnnotations, key) {
			c.Lose("metadata.annotations["+key+"]", "this annotation of a ScaledObject is unknown")
		}
		delete(annotations, key)
	}
}

// pause holds the replica count. KEDA holds it above maxReplicaCount too.
func (c *conversion) pause(replicas int32) {
	out := c.out()
	if replicas > out.MaxReplicas {
		c.Lose("metadata.annotations["+AnnotationPausedReplicas+"]", "%d becomes %d: a pause has maxReplicas at most",
			replicas, out.MaxReplicas)
		replicas = out.MaxReplicas
	}
	out.Mode, out.Paused = plimsollv1alpha1.ModePaused, &plimsollv1alpha1.Paused{Replicas: replicas}
}

func (c *conversion) behavior() *plimsollv1alpha1.Behavior {
	if c.out().Behavior == nil {
		c.out().Behavior = &plimsollv1alpha1.Behavior{}
	}
	return c.out().Behavior
}
