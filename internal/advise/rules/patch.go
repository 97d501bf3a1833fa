package rules

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Operation is one of a JSON patch.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Patch mends a finding: operations on an object, or an object that is missing.
type Patch struct {
	Object     *objects.Object
	Operations []Operation
	// Create is an object to create; there are no operations then.
	Create map[string]any
	// IsLocal says that it mends a manifest, and would do harm on a cluster.
	IsLocal bool
	// ClusterFlags are those by which the command names the cluster.
	ClusterFlags []string
	// isImpossible says that the object has no such field: the patch is left out.
	isImpossible bool
}

// Command applies the patch when it is pasted into a shell; empty for a manifest that no command can name.
func (p *Patch) Command() string {
	if p.Create != nil {
		command := output.CommandToCluster("kubectl create -f -", p.ClusterFlags)
		return command + " <<'EOF'\n" + p.YAML() + "EOF"
	}
	operations := " --type=json -p " + output.ShellQuote(p.json())
	if p.IsLocal {
		if p.Object.Place.File == "" || !p.Object.Place.IsWholeFile {
			return ""
		}
		return "kubectl patch --local -o yaml -f " + output.ShellQuote(p.Object.Place.File) + operations
	}
	command := "kubectl patch " + strings.ToLower(p.Object.Kind) + " " + output.ShellQuote(p.Object.Name)
	if namespace := p.Object.NamedNamespace(); namespace != "" {
		command += " -n " + output.ShellQuote(namespace)
	}
	return output.CommandToCluster(command+operations, p.ClusterFlags)
}

// isCovered reports whether another patch does the same, or gives the same target another utilization: the worse
// finding asks for no higher one.
func (p *Patch) isCovered(by *Patch) bool {
	if by == nil || p.Object != by.Object || p.IsLocal != by.IsLocal || p.Create != nil || by.Create != nil {
		return false
	}
	return slices.EqualFunc(p.Operations, by.Operations, func(a, b Operation) bool {
		isOneTarget := a.Op == "replace" && strings.HasSuffix(a.Path, "/averageUtilization")
		return a.Op == b.Op && a.Path == b.Path && (isOneTarget || reflect.DeepEqual(a.Value, b.Value))
	})
}

// json are the operations in one line.
func (p *Patch) json() string {
	var text strings.Builder
	if err := output.JSONLine(&text, p.Operations); err != nil {
		// Operations are made of what JSON has.
		panic(err)
	}
	return strings.TrimSpace(text.String())
}

// YAML is the patch as it goes into a file.
func (p *Patch) YAML() string {
	var content any = p.Operations
	if p.Create != nil {
		content = p.Create
	}
	text, err := yaml.Marshal(content)
	if err != nil {
		// Operations and objects are made of what JSON has.
		panic(err)
	}
	return string(text)
}

func patch(o *objects.Object) *Patch { return &Patch{Object: o} }

// local says that the patch is for a manifest alone.
func (p *Patch) local() *Patch {
	p.IsLocal = true
	return p
}

// set gives a field a value, and adds what is missing on the way to it.
func (p *Patch) set(field objects.Field, value any) *Patch {
	if field = p.own(field); p.isImpossible {
		return p
	}
	op := "replace"
	if !p.Object.Has(field) {
		op = "add"
		missing := p.Object.Missing(field)
		for i := len(field) - 1; i > missing; i-- {
			value = map[string]any{field[i]: value}
		}
		field = field[:missing+1]
	}
	p.Operations = append(p.Operations, Operation{Op: op, Path: field.Pointer(), Value: value})
	return p
}

func (p *Patch) remove(field objects.Field) *Patch {
	if field = p.own(field); !p.isImpossible && p.Object.Has(field) {
		p.Operations = append(p.Operations, Operation{Op: "remove", Path: field.Pointer()})
	}
	return p
}

// own is the object's own field for one of the HPA that KEDA makes of a ScaledObject.
func (p *Patch) own(field objects.Field) objects.Field {
	if p.Object.Kind != objects.ScaledObject {
		return field
	}
	own, ok := objects.ScaledField(field)
	p.isImpossible = p.isImpossible || !ok
	return own
}

// setPolicy gives the VPA's policy for one container a field. The policies of a VPA are
// not merged: one for a container alone repeats what stands in that for all.
func setPolicy(v *objects.Vertical, container string, name string, value any) *Patch {
	p := patch(&v.Object)
	policy := v.PolicyFor(container)
	if policy.ContainerName == container {
		return p.set(policy.Field.In(name), value)
	}
	own := map[string]any{}
	if policy.Field != nil {
		maps.Copy(own, v.Value(policy.Field))
	}
	own["containerName"], own[name] = container, value
	list := objects.Field{"spec", "resourcePolicy", "containerPolicies"}
	if v.Has(list) {
		p.Operations = append(p.Operations, Operation{Op: "add", Path: list.Pointer() + "/-", Value: own})
		return p
	}
	return p.set(list, []any{own})
}
