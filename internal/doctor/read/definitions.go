package read

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// definition has the fields of a CustomResourceDefinition that the checks use.
type definition struct {
	Spec struct {
		Versions []struct {
			Name   string `json:"name"`
			Served bool   `json:"served"`
			Schema struct {
				OpenAPIV3Schema json.RawMessage `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
	Status struct {
		Conditions     []metav1.Condition `json:"conditions"`
		StoredVersions []string           `json:"storedVersions"`
	} `json:"status"`
}

// schemas are the schemas of the versions that are served.
func (d *definition) schemas() (map[string]string, error) {
	all := map[string]string{}
	for i := range d.Spec.Versions {
		v := &d.Spec.Versions[i]
		if !v.Served {
			continue
		}
		text, err := canonical(v.Schema.OpenAPIV3Schema)
		if err != nil {
			return nil, fmt.Errorf("the schema of version %s: %w", v.Name, err)
		}
		all[v.Name] = text
	}
	return all, nil
}

// served are the names of the versions that are served.
func (d *definition) served() []string {
	var names []string
	for i := range d.Spec.Versions {
		if d.Spec.Versions[i].Served {
			names = append(names, d.Spec.Versions[i].Name)
		}
	}
	return names
}

// definitions compares the definitions of config/ with those of the cluster.
func (r *reader) definitions(ctx context.Context) {
	what := request{verb: "get", group: "apiextensions.k8s.io", resource: "customresourcedefinitions", isOfCluster: true}
	r.facts.Definitions = reading(ctx, r, what, func(ctx context.Context) ([]doctor.Definition, error) {
		all, err := manifests()
		if err != nil {
			return nil, err
		}
		var read []doctor.Definition
		for i := range all {
			if all[i].kind.Kind != "CustomResourceDefinition" {
				continue
			}
			one, err := r.definition(ctx, &all[i])
			if err != nil {
				return nil, err
			}
			read = append(read, one)
		}
		return read, nil
	})
}

func (r *reader) definition(ctx context.Context, m *manifest) (doctor.Definition, error) {
	name := m.kind.Name
	read := doctor.Definition{Name: name, IsVertical: strings.HasSuffix(name, ".autoscaling.k8s.io")}
	var own, there definition
	if err := yaml.Unmarshal(m.text, &own); err != nil {
		return read, fmt.Errorf("config/%s: %w", m.file, err)
	}
	read.Wanted = own.served()
	err := r.api.get(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"+name, nil, &there)
	if isUnserved(err) {
		return read, nil
	}
	if err != nil {
		return read, err
	}
	read.Exists, read.IsEstablished = true, apimeta.IsStatusConditionTrue(there.Status.Conditions, "Established")
	read.Served, read.Stored = there.served(), there.Status.StoredVersions
	wanted, err := own.schemas()
	if err != nil {
		return read, err
	}
	has, err := there.schemas()
	if err != nil {
		return read, err
	}
	read.HasOwnSchema = true
	for version, schema := range wanted {
		read.HasOwnSchema = read.HasOwnSchema && has[version] == schema
	}
	return read, nil
}
