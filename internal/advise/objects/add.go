package objects

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/quantity"
)

// adders know the kinds that matter here, by group, version and kind.
var adders = map[string]func(*Collection, *Object) error{
	"autoscaling/v2 " + HPA:        addHorizontal,
	"autoscaling/v1 " + HPA:        addHorizontalV1,
	"plimsoll.dev/v1alpha1 " + WLA: addWorkloadAutoscaler,
	"autoscaling.k8s.io/v1 " + VPA: addVertical,
	"apps/v1 " + Deployment:        addDeployment,
	"apps/v1 " + StatefulSet:       addStatefulSet,
	"apps/v1 " + DaemonSet:         addDaemonSet,
	"apps/v1 " + ReplicaSet:        addReplicaSet,
	"batch/v1 " + Job:              addJob,
	"batch/v1 " + CronJob:          addCronJob,
	"policy/v1 " + PDB:             addBudget,
	"v1 " + Pod:                    addPod,
	"v1 " + Node:                   addNode,
	"v1 " + LimitRange:             addRange,
}

// Add takes in an object. One of a kind that does not matter here is left out, and one
// that cannot be read is kept in mind as such. In a file, a field that the kind does not
// have cannot be read: what is misspelt would silently not count.
func (c *Collection) Add(raw map[string]any, place Place) {
	o := &Object{Raw: raw, Place: place}
	o.APIVersion, _ = raw["apiVersion"].(string)
	o.Kind, _ = raw["kind"].(string)
	add, ok := adders[o.APIVersion+" "+o.Kind]
	if !ok {
		c.Objects++
		return
	}
	metadata, _ := raw["metadata"].(map[string]any)
	o.Name, _ = metadata["name"].(string)
	if o.Namespace, _ = metadata["namespace"].(string); o.Namespace == "" && o.Kind != Node {
		o.Namespace = metav1.NamespaceDefault
	}
	if err := add(c, o); err != nil {
		c.leaveOut(o, err)
		return
	}
	c.Objects++
}

// LeaveOut keeps in mind that a part of a file cannot be read.
func (c *Collection) LeaveOut(place Place, err error) {
	c.leaveOut(&Object{Kind: "File", Name: place.File, Place: place}, err)
}

// maxWhy bounds the message about one: a parser may quote its whole input.
const maxWhy = 300

func (c *Collection) leaveOut(o *Object, err error) {
	why := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\n", " "), "")
	if len(why) > maxWhy {
		why = strings.ToValidUTF8(why[:maxWhy], "") + "..."
	}
	c.Unreadable = append(c.Unreadable, Unreadable{Object: o, Why: "It cannot be read: " + why + "."})
}

// put takes in an object of a kind. One that is there already gives way: as when files are
// applied in turn, the last one counts.
func put[T any](c *Collection, list *[]*T, o *Object, item *T) {
	if c.at == nil {
		c.at = map[string]position{}
	}
	before, known := c.at[o.Key()]
	if !known || o.Name == "" {
		c.at[o.Key()] = position{index: len(*list), place: o.Place}
		*list = append(*list, item)
		return
	}
	c.Repeated = append(c.Repeated, Repeated{Object: o, Before: before.place})
	c.at[o.Key()] = position{index: before.index, place: o.Place}
	(*list)[before.index] = item
	c.index = nil
}

// decode reads the raw object into a typed one.
func decode[T any](o *Object, meta func(*T) *metav1.ObjectMeta) (*T, error) {
	into := new(T)
	if hasSuspect(o.Raw) {
		text, err := json.Marshal(o.Raw)
		if err == nil {
			err = quantity.Check(text, into)
		}
		if err != nil {
			return nil, err
		}
	}
	// A cluster may be newer, and have fields that are not known here.
	isStrict := o.Place.File != ""
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Raw, into, isStrict); err != nil {
		return nil, err
	}
	o.Meta = meta(into)
	return into, nil
}

// hasSuspect reports whether a text in it may be a quantity that takes hours to read. Only
// then the field is searched.
func hasSuspect(raw any) bool {
	switch r := raw.(type) {
	case string:
		return quantity.IsSuspect(r)
	case map[string]any:
		for _, inner := range r {
			if hasSuspect(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(r, hasSuspect)
	}
	return false
}

func addHorizontal(c *Collection, o *Object) error {
	h, err := decode(o, func(t *autoscalingv2.HorizontalPodAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Horizontals, o, &Horizontal{Object: *o, Spec: &h.Spec, Status: &h.Status})
	return nil
}

// defaultPercent is the API server's target of an HPA that names no metric.
const defaultPercent = 80

func addHorizontalV1(c *Collection, o *Object) error {
	h, err := decode(o, func(t *autoscalingv1.HorizontalPodAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	percent := int32(defaultPercent)
	if h.Spec.TargetCPUUtilizationPercentage != nil {
		percent = *h.Spec.TargetCPUUtilizationPercentage
	}
	spec := &autoscalingv2.HorizontalPodAutoscalerSpec{
		ScaleTargetRef: autoscalingv2.CrossVersionObjectReference(h.Spec.ScaleTargetRef),
		MinReplicas:    h.Spec.MinReplicas, MaxReplicas: h.Spec.MaxReplicas,
		Metrics: []autoscalingv2.MetricSpec{cpuMetric(percent)},
	}
	status := &autoscalingv2.HorizontalPodAutoscalerStatus{
		CurrentReplicas: h.Status.CurrentReplicas, DesiredReplicas: h.Status.DesiredReplicas,
		LastScaleTime: h.Status.LastScaleTime,
	}
	put(c, &c.Horizontals, o, &Horizontal{Object: *o, Spec: spec, Status: status, IsV1: true})
	return nil
}

func cpuMetric(percent int32) autoscalingv2.MetricSpec {
	return autoscalingv2.MetricSpec{Type: autoscalingv2.ResourceMetricSourceType,
		Resource: &autoscalingv2.ResourceMetricSource{
			Name:   corev1.ResourceCPU,
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &percent},
		}}
}

// Metrics are the object's: the API server's default if it names none. An empty list of a
// WorkloadAutoscaler means no metrics.
func (h *Horizontal) Metrics() []autoscalingv2.MetricSpec {
	if len(h.Spec.Metrics) == 0 && (h.Workload == nil || h.Workload.Metrics == nil) {
		return []autoscalingv2.MetricSpec{cpuMetric(defaultPercent)}
	}
	return h.Spec.Metrics
}

func addVertical(c *Collection, o *Object) error {
	v, err := decode(o, func(t *vpav1.VerticalPodAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Verticals, o, &Vertical{Object: *o, Spec: &v.Spec, Status: &v.Status})
	return nil
}

// addWorkload takes in a workload; selector is nil where the API server makes it.
func (c *Collection) addWorkload(o *Object, w Workload, selector *metav1.LabelSelector) error {
	w.Object = *o
	if w.TemplateField == nil {
		w.TemplateField = Field{"spec", "template"}
	}
	if selector != nil {
		var err error
		if w.Selector, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
	}
	if before, known := c.at[o.Key()]; known && o.Name != "" && len(w.Template.Spec.Containers) == 0 {
		// A part of it, as overlays have them.
		c.Repeated = append(c.Repeated, Repeated{Object: o, Before: before.place})
		return nil
	}
	put(c, &c.Workloads, o, &w)
	return nil
}

func addDeployment(c *Collection, o *Object) error {
	d, err := decode(o, func(t *appsv1.Deployment) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	return c.addWorkload(o, Workload{Replicas: d.Spec.Replicas, Template: &d.Spec.Template}, d.Spec.Selector)
}

func addStatefulSet(c *Collection, o *Object) error {
	s, err := decode(o, func(t *appsv1.StatefulSet) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	w := Workload{Replicas: s.Spec.Replicas, Template: &s.Spec.Template, PodManagement: s.Spec.PodManagementPolicy}
	return c.addWorkload(o, w, s.Spec.Selector)
}

func addDaemonSet(c *Collection, o *Object) error {
	d, err := decode(o, func(t *appsv1.DaemonSet) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	return c.addWorkload(o, Workload{Template: &d.Spec.Template}, d.Spec.Selector)
}

func addReplicaSet(c *Collection, o *Object) error {
	r, err := decode(o, func(t *appsv1.ReplicaSet) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	return c.addWorkload(o, Workload{Replicas: r.Spec.Replicas, Template: &r.Spec.Template}, r.Spec.Selector)
}

func addJob(c *Collection, o *Object) error {
	j, err := decode(o, func(t *batchv1.Job) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	return c.addWorkload(o, Workload{Template: &j.Spec.Template}, j.Spec.Selector)
}

func addCronJob(c *Collection, o *Object) error {
	j, err := decode(o, func(t *batchv1.CronJob) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	return c.addWorkload(o, Workload{
		Template: &j.Spec.JobTemplate.Spec.Template, TemplateField: Field{"spec", "jobTemplate", "spec", "template"},
	}, nil)
}

func addBudget(c *Collection, o *Object) error {
	b, err := decode(o, func(t *policyv1.PodDisruptionBudget) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	selector := labels.Nothing()
	if b.Spec.Selector != nil {
		if selector, err = metav1.LabelSelectorAsSelector(b.Spec.Selector); err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
	}
	put(c, &c.Budgets, o, &Budget{Object: *o, Spec: &b.Spec, Selector: selector})
	return nil
}

func addPod(c *Collection, o *Object) error {
	p, err := decode(o, func(t *corev1.Pod) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Pods, o, &Running{Object: *o, Pod: p})
	return nil
}

func addNode(c *Collection, o *Object) error {
	n, err := decode(o, func(t *corev1.Node) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Nodes, o, &Machine{Object: *o, Allocatable: n.Status.Allocatable})
	return nil
}

func addRange(c *Collection, o *Object) error {
	r, err := decode(o, func(t *corev1.LimitRange) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Ranges, o, &Range{Object: *o, Limits: r.Spec.Limits})
	return nil
}
