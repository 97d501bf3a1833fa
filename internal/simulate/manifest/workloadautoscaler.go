package manifest

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/crdschema"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

// IsAutoscaler reports whether the object can be simulated.
func (o *Object) IsAutoscaler() bool {
	return o.Kind == HPAKind || o.Kind == plimsollv1alpha1.Kind
}

// Autoscaler is the object as the loop has it, with the API server's defaults as far as they
// matter here.
func (o *Object) Autoscaler() (observehorizontal.Autoscaler, error) {
	if o.Kind != plimsollv1alpha1.Kind {
		hpa, err := o.HPA()
		if err != nil {
			return observehorizontal.Autoscaler{}, err
		}
		return observehorizontal.HPA(hpa), nil
	}
	workload, err := o.decodeWorkload()
	if err != nil {
		return observehorizontal.Autoscaler{}, fmt.Errorf("%s: %s %s: %w", o.Where, o.Kind, o.Name, err)
	}
	return observehorizontal.WorkloadAutoscaler(workload), nil
}

// decodeWorkload is the object as the API server would store it, or why it would refuse it.
func (o *Object) decodeWorkload() (*plimsollv1alpha1.WorkloadAutoscaler, error) {
	if version, _ := o.content["apiVersion"].(string); version != plimsollv1alpha1.SchemeGroupVersion.String() {
		return nil, fmt.Errorf("apiVersion %q, want %s", version, plimsollv1alpha1.SchemeGroupVersion)
	}
	text, err := json.Marshal(o.content)
	if err != nil {
		return nil, err
	}
	var raw map[string]any
	if err := utiljson.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	stored, refused, err := crdschema.Store(context.Background(), raw)
	switch {
	case err != nil:
		return nil, err
	case len(stored.Unknown) > 0:
		return nil, fmt.Errorf("unknown field %q", stored.Unknown[0])
	case len(refused) > 0:
		return nil, refused.ToAggregate()
	}
	workload := &plimsollv1alpha1.WorkloadAutoscaler{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(stored.Object, workload); err != nil {
		return nil, err
	}
	if workload.Namespace == "" {
		workload.Namespace = corev1.NamespaceDefault
	}
	return workload, nil
}
