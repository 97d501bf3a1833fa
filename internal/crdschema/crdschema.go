// Package crdschema validates VerticalPodAutoscalers and WorkloadAutoscalers as an API server does that has
// Plimsoll's CustomResourceDefinitions: by their schemas, and by the rules in them.
package crdschema

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

// definitions has the definitions of the validated kinds, which are read when they are first needed.
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
	// hasStatus reports that the status has a subresource, so that it is no part of what is created.
	hasStatus bool
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
			d, err := newDefinition(v.Schema.OpenAPIV3Schema)
			if err == nil {
				d.hasStatus = v.Subresources != nil && v.Subresources.Status != nil
			}
			return d, err
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

// Stored is an object as the API server stores it when it is created.
type Stored struct {
	// Object has the defaults. It lacks what the schema does not have, and a status that has a subresource.
	Object map[string]any
	// Unknown are the paths of the fields that were dropped because the schema does not have them. kubectl asks for a
	// refusal of these.
	Unknown []string
}

// Validate says what the API server refuses of an object that is created, in the order of the fields. It has no opinion
// on other kinds, and on the metadata.
func Validate(ctx context.Context, object map[string]any) (field.ErrorList, error) {
	_, refused, err := Store(ctx, object)
	return refused, err
}

// Store is Validate, with what is stored if nothing is refused. The numbers of the object must be int64 and float64.
func Store(ctx context.Context, object map[string]any) (Stored, field.ErrorList, error) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	stored := Stored{Object: runtime.DeepCopyJSON(object)}
	open, ok := definitions[apiVersion+" "+kind]
	if !ok {
		return stored, nil, nil
	}
	d, err := open()
	if err != nil {
		return stored, nil, err
	}
	if d.hasStatus {
		delete(stored.Object, "status")
	}
	stored.Unknown = d.complete(stored.Object)
	return stored, d.validate(ctx, stored.Object), nil
}

// complete drops what the schema does not have, and adds the defaults, in the order of the API server.
func (d *definition) complete(object map[string]any) (unknown []string) {
	unknown = pruning.PruneWithOptions(object, d.whole, true, schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.PruneNonNullableNullsWithoutDefaults(object, d.whole)
	defaulting.Default(object, d.whole)
	return unknown
}

func (d *definition) validate(ctx context.Context, object map[string]any) field.ErrorList {
	refused := validation.ValidateCustomResource(nil, object, d.schema)
	refused = append(refused, listtype.ValidateListSetsAndMaps(nil, d.whole, object)...)
	if len(refused) == 0 {
		refused, _ = d.rules.Validate(ctx, nil, d.whole, object, nil, celconfig.RuntimeCELCostBudget)
	}
	// The errors of a schema come in no order.
	slices.SortStableFunc(refused, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	return refused
}
