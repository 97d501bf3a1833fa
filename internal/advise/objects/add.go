package objects

import (
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
)

// adders know the kinds that matter here, by group, version and kind.
var adders = map[string]func(*Collection, *Object) error{
	"autoscaling/v2 " + HPA:                           addHorizontal,
	"autoscaling/v1 " + HPA:                           addHorizontalV1,
	"plimsoll.dev/v1alpha1 " + WLA:                    addWorkloadAutoscaler,
	"autoscaling.k8s.io/v1 " + VPA:                    addVertical,
	"apps/v1 " + Deployment:                           addDeployment,
	"apps/v1 " + StatefulSet:                          addStatefulSet,
	"apps/v1 " + DaemonSet:                            addDaemonSet,
	"apps/v1 " + ReplicaSet:                           addReplicaSet,
	"batch/v1 " + Job:                                 addJob,
	"batch/v1 " + CronJob:                             addCronJob,
	rolloutVersion + " " + Rollout:                    addRollout,
	scaledobject.APIVersion + " " + scaledobject.Kind: addScaledObject,
	"policy/v1 " + PDB:                                addBudget,
	"v1 " + Pod:                                       addPod,
	"v1 " + Node:                                      addNode,
	"v1 " + LimitRange:                                addRange,
}

// Add adds an object. One that makes pods or scales something is taken in whatever its kind, as far as it can be
// read; what is of another kind is left out. An object that cannot be read is kept in mind as such. In a file, a field
// that the kind does not have cannot be read: what is misspelt would silently not count.
func (c *Collection) Add(raw map[string]any, place Place) {
	o := &Object{Raw: raw, Place: place}
	o.APIVersion, _ = raw["apiVersion"].(string)
	o.Kind, _ = raw["kind"].(string)
	metadata, _ := raw["metadata"].(map[string]any)
	o.Name, _ = metadata["name"].(string)
	if o.Namespace, _ = metadata["namespace"].(string); o.Namespace == "" && o.Kind != Node {
		o.Namespace, o.hasNoNamespace = metav1.NamespaceDefault, true
	}
	if add := c.adder(o); add != nil {
		name := o.Name
		if namespace := o.NamedNamespace(); namespace != "" {
			name = namespace + "/" + name
		}
		if strings.ContainsAny(name, "${}<>") {
			c.leaveOut(o, fmt.Errorf("the name %s has a variable that nothing has replaced", name))
			return
		}
		if err := add(c, o); err != nil {
			c.leaveOut(o, err)
			return
		}
	}
	for _, name := range o.unknown {
		c.note(Unreadable{Object: o, Field: ParseField(name), Why: fmt.Sprintf(
			"The kind has no such field, so a cluster ignores it: unknown field %q", name)})
	}
	c.Objects++
}

// adder is what takes in the object; nil if its kind does not matter here, or cannot be read.
func (c *Collection) adder(o *Object) func(*Collection, *Object) error {
	if add, ok := adders[o.APIVersion+" "+o.Kind]; ok {
		return add
	}
	if removed := removalOf(o); removed != nil {
		c.Removed = append(c.Removed, *removed)
		o.IsUnserved = true
		return removed.add
	}
	return otherAdder(o)
}

// LeaveOut keeps in mind that a part of a file cannot be read.
func (c *Collection) LeaveOut(place Place, err error) {
	c.leaveOut(&Object{Kind: "File", Name: place.File, Place: place}, err)
}

// maxWhy bounds the message about one: a parser may quote its whole input.
const maxWhy = 300

func (c *Collection) leaveOut(o *Object, err error) {
	u := Unreadable{Object: o, Why: "It cannot be read: " + err.Error()}
	var wrong *typed.Error
	if errors.As(err, &wrong) {
		u.Field, u.Why, u.IsWrongType = ParseField(wrong.Field.String()), wrong.Error(), true
	}
	c.note(u)
}

// note adds what is wrong, with the line of the field.
func (c *Collection) note(u Unreadable) {
	u.Why = strings.ToValidUTF8(strings.ReplaceAll(u.Why, "\n", " "), "")
	if len(u.Why) > maxWhy {
		u.Why = strings.ToValidUTF8(u.Why[:maxWhy], "") + "..."
	}
	if line := u.Object.Place.LineOf(u.Field); line != u.Object.Place.Line {
		u.Why += fmt.Sprintf(" (line %d)", line)
	}
	u.Why += "."
	c.Unreadable = append(c.Unreadable, u)
}

// isPart reports whether an autoscaler in a file says nothing of its target: overlays have patches that change a whole
// one.
func (o *Object) isPart() bool {
	ref, ok := map[string]string{HPA: "scaleTargetRef", WLA: "scaleTargetRef", VPA: "targetRef"}[o.Kind]
	return ok && o.Name != "" && o.Place.File != "" && !o.Has(Field{"spec", ref})
}

// put adds an object of a kind, in place of an earlier one of the same name: of files that are applied in turn, the
// last one counts. An object in a version that is not served replaces none in one that is.
func put[T any](c *Collection, list *[]*T, o *Object, item *T) {
	if c.at == nil {
		c.at = map[string]position{}
	}
	before, known := c.at[o.Key()]
	if known && o.isPart() {
		c.Repeated = append(c.Repeated, Repeated{Object: o, Before: before.place, IsPart: true})
		return
	}
	at := position{index: len(*list), place: o.Place, isUnserved: o.IsUnserved}
	if !known || o.Name == "" {
		c.at[o.Key()] = at
		*list = append(*list, item)
		return
	}
	if o.IsUnserved && !before.isUnserved {
		return
	}
	if o.IsUnserved == before.isUnserved {
		c.Repeated = append(c.Repeated, Repeated{Object: o, Before: before.place})
	}
	at.index = before.index
	c.at[o.Key()] = at
	(*list)[before.index] = item
	c.index = nil
}

// decode reads the raw object into a typed one.
func decode[T any](o *Object, meta func(*T) *metav1.ObjectMeta) (*T, error) {
	into := new(T)
	unknown, err := typed.Decode(o.Raw, into, nil)
	if err != nil {
		return nil, err
	}
	o.Meta = meta(into)
	// A cluster may be newer, and have fields that are not known here. So may an older version.
	if o.Place.File == "" || o.IsUnserved {
		return into, nil
	}
	for _, name := range unknown {
		// What begins so is for kustomize: the object is a patch.
		if last := ParseField(name); !strings.HasPrefix(last[len(last)-1], "$") {
			o.unknown = append(o.unknown, name)
		}
	}
	return into, nil
}

func addHorizontal(c *Collection, o *Object) error {
	h, err := decode(o, func(t *autoscalingv2.HorizontalPodAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Horizontals, o, &Horizontal{Object: *o, Spec: &h.Spec, Status: &h.Status})
	return nil
}

func addVertical(c *Collection, o *Object) error {
	v, err := decode(o, func(t *vpav1.VerticalPodAutoscaler) *metav1.ObjectMeta { return &t.ObjectMeta })
	if err != nil {
		return err
	}
	put(c, &c.Verticals, o, &Vertical{Object: *o, Spec: &v.Spec, Status: &v.Status})
	return nil
}

// addWorkload adds a workload; selector is nil where the API server makes it.
func (c *Collection) addWorkload(o *Object, w Workload, selector *metav1.LabelSelector) error {
	w.Object, w.TemplateObject = *o, o
	if w.TemplateField == nil {
		w.TemplateField = Field{"spec", "template"}
	}
	if selector != nil {
		var err error
		if w.Selector, err = metav1.LabelSelectorAsSelector(selector); err != nil {
			return fmt.Errorf("spec.selector: %w", err)
		}
	}
	if before, known := c.at[o.Key()]; known && o.Name != "" && w.from == nil && len(w.Template.Spec.Containers) == 0 {
		// A part of it, as overlays have them.
		c.Repeated = append(c.Repeated, Repeated{Object: o, Before: before.place, IsPart: true})
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
