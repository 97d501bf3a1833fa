package whatif

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/output"
	"github.com/plimsoll-dev/plimsoll/internal/simulate/manifest"
	"github.com/plimsoll-dev/plimsoll/internal/ui/view"
)

// mostTargets is the largest number of targets that may be changed at once.
const mostTargets = 50

// InvalidError is an error of the request, not of the cluster.
type InvalidError struct{ Why string }

// Error implements error.
func (e *InvalidError) Error() string { return e.Why }

func invalid(format string, values ...any) error {
	return &InvalidError{Why: fmt.Sprintf(format, values...)}
}

// operation is an operation of a JSON patch. Its op is add, which replaces an existing value.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// change is a field and its new value.
type change struct {
	path  []string // as in spec, metrics, 0, resource
	value any
}

func (c *change) assignment() (manifest.Assignment, error) {
	text, err := json.Marshal(c.value)
	if err != nil {
		return manifest.Assignment{}, err
	}
	var path strings.Builder
	for i, part := range c.path {
		if _, err := strconv.Atoi(part); err == nil {
			path.WriteString("[" + part + "]")
			continue
		}
		if i > 0 {
			path.WriteString(".")
		}
		path.WriteString(part)
	}
	return manifest.Assignment{Path: path.String(), Value: string(text)}, nil
}

func isNothing(c *view.Changes) bool {
	return c.MinReplicas == nil && c.MaxReplicas == nil && len(c.Targets) == 0 &&
		strings.TrimSpace(c.Behavior+c.Schedules) == ""
}

func changesOf(autoscaler observehorizontal.Autoscaler, asked *view.Changes) ([]change, error) {
	var all []change
	if asked.MinReplicas != nil {
		all = append(all, change{path: []string{"spec", "minReplicas"}, value: *asked.MinReplicas})
	}
	if asked.MaxReplicas != nil {
		all = append(all, change{path: []string{"spec", "maxReplicas"}, value: *asked.MaxReplicas})
	}
	if len(asked.Targets) > mostTargets {
		return nil, invalid("%d targets are changed, at most %d can be", len(asked.Targets), mostTargets)
	}
	for i := range asked.Targets {
		target, err := targetChange(autoscaler, &asked.Targets[i])
		if err != nil {
			return nil, err
		}
		all = append(all, target)
	}
	for field, text := range map[string]string{"behavior": asked.Behavior, "schedules": asked.Schedules} {
		if strings.TrimSpace(text) == "" {
			continue
		}
		if field == "schedules" && !autoscaler.IsWorkload() {
			return nil, invalid("schedules: only a WorkloadAutoscaler has them")
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, invalid("%s: %v", field, err)
		}
		all = append(all, change{path: []string{"spec", field}, value: value})
	}
	slices.SortStableFunc(all, func(a, b change) int { return slices.Compare(a.path, b.path) })
	return all, nil
}

// targetChange returns the change of a metric's target, in its present field.
func targetChange(autoscaler observehorizontal.Autoscaler, asked *view.TargetChange) (change, error) {
	metrics, err := metricsOf(autoscaler)
	if err != nil {
		return change{}, err
	}
	if asked.Metric < 0 || asked.Metric >= len(metrics) {
		return change{}, invalid("targets: there is no metric %d: the object has %d", asked.Metric, len(metrics))
	}
	for _, source := range slices.Sorted(maps.Keys(metrics[asked.Metric])) {
		object, _ := metrics[asked.Metric][source].(map[string]any)
		target, _ := object["target"].(map[string]any)
		for _, field := range []string{"averageUtilization", "averageValue", "value"} {
			if target[field] == nil {
				continue
			}
			path := []string{"spec", "metrics", strconv.Itoa(asked.Metric), source, "target", field}
			if field != "averageUtilization" {
				return change{path: path, value: asked.Value}, nil
			}
			percent, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(asked.Value), "%"), 10, 32)
			if err != nil || percent <= 0 {
				return change{}, invalid("targets: %q is no percentage greater than 0", asked.Value)
			}
			return change{path: path, value: percent}, nil
		}
	}
	return change{}, invalid("targets: metric %d has no target in its manifest", asked.Metric)
}

// metricsOf returns the object's, as its manifest has them.
func metricsOf(autoscaler observehorizontal.Autoscaler) (metrics []map[string]any, err error) {
	var own any
	if autoscaler.IsWorkload() {
		own = autoscaler.Workload.Spec.Metrics
	} else {
		own = autoscaler.HPA.Spec.Metrics
	}
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(text, &metrics)
	return metrics, err
}

// patchOf returns the JSON patch of the changes, and the command that applies it.
func patchOf(kind, namespace, name string, changes []change) (patch, command string, err error) {
	operations := make([]operation, len(changes))
	for i := range changes {
		operations[i] = operation{Op: "add", Path: "/" + strings.Join(changes[i].path, "/"), Value: changes[i].value}
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return "", "", err
	}
	words := []string{"kubectl", "patch", strings.ToLower(kind), name, "-n", namespace, "--type=json", "-p", string(text)}
	for i, word := range words {
		words[i] = output.ShellQuote(word)
	}
	return string(text), strings.Join(words, " "), nil
}
