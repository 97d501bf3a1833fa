// Package crdschema validates VerticalPodAutoscalers and WorkloadAutoscalers as an API server does that has
// Plimsoll's CustomResourceDefinitions: by their schemas, and by the rules in them.
package crdschema

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	schemacel "k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/config"
)

// definitions are those of the kinds that are validated, read when they are first needed.
var definitions = map[string]func() (*definition, error){
	"autoscaling.k8s.io/v1 VerticalPodAutoscaler": once("crd/autoscaling.k8s.io_verticalpodautoscalers.yaml", "v1"),
	"plimsoll.dev/v1alpha1 WorkloadAutoscaler":    once("crd/plimsoll/plimsoll.dev_workloadautoscalers.yaml", "v1alpha1"),
}

func once(file, version string) func() (*definition, error) {
	return sync.OnceValues(func() (*definition, error) { return read(file, version) })
}

// definition is one version of a custom resource.
type definition struct {
	schema validation.SchemaValidator
	whole  *schema.Structural
	rules  *schemacel.Validator
}

func read(file, version string) (*definition, error) {
	text, err := config.Manifests.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var d apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for i := range d.Spec.Versions {
		if v := &d.Spec.Versions[i]; v.Name == version && v.Schema != nil {
			return newDefinition(v.Schema.OpenAPIV3Schema)
		}
	}
	return nil, fmt.Errorf("%s: no schema of version %s", file, version)
}

func newDefinition(props *apiextensionsv1.JSONSchemaProps) (*definition, error) {
	var internal apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal,
		nil); err != nil {
		return nil, err
	}
	d := &definition{}
	var err error
	if d.schema, _, err = validation.NewSchemaValidator(&internal); err != nil {
		return nil, err
	}
	if d.whole, err = schema.NewStructural(&internal); err != nil {
		return nil, err
	}
	d.rules = schemacel.NewValidator(d.whole, true, celconfig.PerCallLimit)
	return d, nil
}

// Validate says what the API server refuses of an object that is created. It has no opinion on other kinds, and on
// the metadata.
func Validate(ctx context.Context, object map[string]any) (field.ErrorList, error) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	open, ok := definitions[apiVersion+" "+kind]
	if !ok {
		return nil, nil
	}
	d, err := open()
	if err != nil {
		return nil, err
	}
	// In the order of the API server: it drops what the schema does not have, and adds the defaults.
	stored := runtime.DeepCopyJSON(object)
	pruning.Prune(stored, d.whole, true)
	defaulting.PruneNonNullableNullsWithoutDefaults(stored, d.whole)
	defaulting.Default(stored, d.whole)
	errs := validation.ValidateCustomResource(nil, stored, d.schema)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, d.whole, stored)...)
	if len(errs) == 0 {
		errs, _ = d.rules.Validate(ctx, nil, d.whole, stored, nil, celconfig.RuntimeCELCostBudget)
	}
	return errs, nil
}
