// Package convert converts HorizontalPodAutoscalers to WorkloadAutoscalers, and back.
package convert

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/typed"
)

// Annotations of a WorkloadAutoscaler that replaces an HPA or a ScaledObject.
const (
	// MigratedFrom has the manifest of the replaced object, as JSON.
	MigratedFrom = "plimsoll.dev/migrated-from"
	// Migrating is set until the migration is complete. Its value is the direction.
	Migrating = plimsollv1alpha1.MigratingAnnotation
	// Forward and Back are the directions.
	Forward = "forward"
	Back    = "back"
)

// Finding is a field of the object that needs attention.
type Finding struct {
	// Field is the path of the field.
	Field string
	// IsLost is set if the WorkloadAutoscaler has no equivalent. Otherwise the finding is for information.
	IsLost bool
	// Message describes how the field is migrated.
	Message string
}

// Result is a WorkloadAutoscaler and the findings of its conversion.
type Result struct {
	WorkloadAutoscaler *plimsollv1alpha1.WorkloadAutoscaler
	Findings           []Finding
}

// Lose records a field without an equivalent in the WorkloadAutoscaler.
func (r *Result) Lose(field, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Field: field, IsLost: true, Message: fmt.Sprintf(format, args...)})
}

// Note records how a field is migrated.
func (r *Result) Note(field, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Losses returns the number of fields without an equivalent.
func (r *Result) Losses() int {
	n := 0
	for _, f := range r.Findings {
		if f.IsLost {
			n++
		}
	}
	return n
}

// FirstLoss returns the first field without an equivalent. There must be one.
func (r *Result) FirstLoss() Finding {
	return r.Findings[slices.IndexFunc(r.Findings, func(f Finding) bool { return f.IsLost })]
}

// New returns a WorkloadAutoscaler with the name, namespace, labels and annotations of an object, without its spec. It
// does not copy the object's own annotations of a migration, which name what the object itself has replaced.
func New(object *unstructured.Unstructured) *plimsollv1alpha1.WorkloadAutoscaler {
	annotations, labels := object.GetAnnotations(), object.GetLabels()
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	for _, key := range notCopied {
		delete(annotations, key)
		delete(labels, key)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	if len(labels) == 0 {
		labels = nil
	}
	return &plimsollv1alpha1.WorkloadAutoscaler{
		TypeMeta: metav1.TypeMeta{
			APIVersion: plimsollv1alpha1.SchemeGroupVersion.String(), Kind: plimsollv1alpha1.Kind,
		},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: object.GetNamespace(), Name: object.GetName(),
			Labels: labels, Annotations: annotations,
		},
	}
}

// FromHPA converts an HPA of version v1 or v2.
func FromHPA(hpa *unstructured.Unstructured) (*Result, error) {
	if err := typed.CheckMetadata(hpa.Object); err != nil {
		return nil, err
	}
	r := &Result{WorkloadAutoscaler: New(hpa)}
	spec, err := typed.Spec(hpa.Object)
	if err != nil {
		return nil, err
	}
	switch version := hpa.GetAPIVersion(); version {
	case "autoscaling/v2":
	case "autoscaling/v1":
		if spec, err = r.fromV1(hpa, spec); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("apiVersion: %s cannot be read, only autoscaling/v1 and autoscaling/v2", version)
	}
	if err := r.paste(spec, &r.WorkloadAutoscaler.Spec); err != nil {
		return nil, err
	}
	r.complete()
	r.CheckTarget()
	r.noteOwners(hpa)
	r.noteDependents(hpa)
	return r, nil
}

// paste decodes a map into a part of the spec. Unknown fields are lost.
func (r *Result) paste(raw map[string]any, into *plimsollv1alpha1.WorkloadAutoscalerSpec) error {
	lost, err := typed.Decode(raw, into, field.NewPath("spec"))
	if err != nil {
		return err
	}
	for _, name := range lost {
		r.Lose("spec."+name, "a WorkloadAutoscaler has no such field")
	}
	return nil
}

// scaled are the kinds of the API group apps with a scale subresource, as it is written.
var scaled = []string{"Deployment", "ReplicaSet", "StatefulSet"}

// CheckTarget records a loss for a target that neither autoscaler can ever scale: one of Kubernetes' own API groups
// without a scale subresource. It cannot check custom resources, and the API server refuses a target without a group.
// An HPA may name a kind in lower case, a WorkloadAutoscaler may not.
func (r *Result) CheckTarget() {
	ref := &r.WorkloadAutoscaler.Spec.ScaleTargetRef
	group, _, hasGroup := strings.Cut(ref.APIVersion, "/")
	if !hasGroup || strings.Contains(group, ".") {
		return
	}
	for _, kind := range scaled {
		if group != "apps" || strings.ToLower(kind) != ref.Kind && kind != ref.Kind {
			continue
		}
		if ref.Kind != kind {
			r.Note("spec.scaleTargetRef.kind", "%s becomes %s, the kind as its API has it", ref.Kind, kind)
			ref.Kind = kind
		}
		return
	}
	r.Lose("spec.scaleTargetRef", "Kubernetes serves no scale of %s in %s: name a Deployment, ReplicaSet or StatefulSet "+
		"of apps/v1, a ReplicationController of v1, or a custom resource", ref.Kind, ref.APIVersion)
}

// owners has labels and annotations of tools that apply manifests repeatedly.
var owners = []struct{ key, tool string }{
	{"argocd.argoproj.io/tracking-id", "Argo CD"},
	{"argocd.argoproj.io/instance", "Argo CD"},
	{"kustomize.toolkit.fluxcd.io/name", "Flux"},
	{"helm.toolkit.fluxcd.io/name", "Flux"},
	{"meta.helm.sh/release-name", "Helm"},
}

// notCopied has the annotations of a migration, and the labels and annotations by which tools find the objects that
// they have applied, to delete those that are no longer in their manifests. The WorkloadAutoscaler never was. Argo CD 2
// tracks by app.kubernetes.io/instance unless its configuration differs.
var notCopied = []string{
	MigratedFrom, Migrating, "app.kubernetes.io/instance",
	"argocd.argoproj.io/tracking-id", "argocd.argoproj.io/instance",
	"kustomize.toolkit.fluxcd.io/name", "kustomize.toolkit.fluxcd.io/namespace",
	"helm.toolkit.fluxcd.io/name", "helm.toolkit.fluxcd.io/namespace",
}

// noteOwners names the tool that applies the HPA: it would create the HPA again.
func (r *Result) noteOwners(object *unstructured.Unstructured) {
	for _, owner := range owners {
		_, isAnnotated := object.GetAnnotations()[owner.key]
		_, isLabelled := object.GetLabels()[owner.key]
		if isAnnotated || isLabelled {
			r.Note("metadata", "%s manages the object by %s: make the change where %s reads it, "+
				"or it creates the object again", owner.tool, owner.key, owner.tool)
			return
		}
	}
}

// noteDependents names the metadata that neither the WorkloadAutoscaler nor the object that --back restores has.
func (r *Result) noteDependents(object *unstructured.Unstructured) {
	if len(object.GetOwnerReferences()) > 0 {
		r.Note("metadata.ownerReferences", "not copied: neither the WorkloadAutoscaler nor what --back restores is "+
			"deleted with the owner")
	}
	if len(object.GetFinalizers()) > 0 {
		r.Note("metadata.finalizers", "not copied, and not restored by --back")
	}
}

// Manifest returns the object as a user would apply it: without the fields that the API server sets, and without owners
// and finalizers. These refer to objects by UID and to controllers that may no longer exist: an object that is restored
// with them could be deleted with another, or not at all.
func Manifest(object *unstructured.Unstructured) *unstructured.Unstructured {
	manifest := object.DeepCopy()
	delete(manifest.Object, "status")
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers",
	} {
		unstructured.RemoveNestedField(manifest.Object, "metadata", field)
	}
	return manifest
}

// Preview prepares the WorkloadAutoscaler for replacing the object: it sets mode Preview, and the annotation with the
// manifest.
func (r *Result) Preview(object *unstructured.Unstructured) error {
	text, err := json.Marshal(Manifest(object))
	if err != nil {
		return err
	}
	w := r.WorkloadAutoscaler
	w.Spec.Mode = plimsollv1alpha1.ModePreview
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, MigratedFrom, string(text))
	metav1.SetMetaDataAnnotation(&w.ObjectMeta, Migrating, Forward)
	return nil
}

// ToManifest returns the manifest of the object that a WorkloadAutoscaler replaced; nil if it replaced none.
func ToManifest(w *plimsollv1alpha1.WorkloadAutoscaler) (*unstructured.Unstructured, error) {
	text, has := w.Annotations[MigratedFrom]
	if !has {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON([]byte(text)); err != nil {
		return nil, fmt.Errorf("annotation %s: %w", MigratedFrom, err)
	}
	group, ok := groups[object.GetKind()]
	if !ok || object.GroupVersionKind().Group != group || object.GetNamespace() != w.Namespace ||
		object.GetName() != w.Name {
		return nil, fmt.Errorf("annotation %s: it is not a manifest of %s/%s that can be restored",
			MigratedFrom, w.Namespace, w.Name)
	}
	return Manifest(object), nil
}

// groups has the API groups of the kinds that can be restored.
var groups = map[string]string{"HorizontalPodAutoscaler": "autoscaling", "ScaledObject": "keda.sh"}

// Printable returns the WorkloadAutoscaler as a manifest, without its status.
func Printable(w *plimsollv1alpha1.WorkloadAutoscaler) (map[string]any, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	var raw map[string]any
	if err := utiljson.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	delete(raw, "status")
	unstructured.RemoveNestedField(raw, "metadata", "creationTimestamp")
	return raw, nil
}
