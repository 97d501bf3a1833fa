package manifest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"
)

// Assignment is a field and what it is set to.
type Assignment struct {
	// Path leads to the field, as in spec.behavior.scaleUp.policies[0].value.
	Path, Value string
}

// ParseAssignment reads PATH=VALUE.
func ParseAssignment(text string) (Assignment, error) {
	path, value, found := strings.Cut(text, "=")
	path = strings.TrimSpace(path)
	if !found || !strings.HasPrefix(path, "spec.") {
		return Assignment{},
			fmt.Errorf("%q is not of the form spec.FIELD=VALUE, as in spec.behavior.scaleUp.stabilizationWindowSeconds=60", text)
	}
	return Assignment{Path: path, Value: value}, nil
}

// String is the assignment without what all have in common.
func (a Assignment) String() string { return strings.TrimPrefix(a.Path, "spec.") + "=" + a.Value }

// With is a copy of the object in which a field is set. What leads to it is made.
func (o *Object) With(a Assignment) (*Object, error) {
	text, err := json.Marshal(o.content)
	if err != nil {
		return nil, err
	}
	other := *o
	other.content = nil
	if err := json.Unmarshal(text, &other.content); err != nil {
		return nil, err
	}
	var value any
	if err := yaml.Unmarshal([]byte(a.Value), &value); err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path, err)
	}
	steps, err := stepsOf(a.Path)
	if err != nil {
		return nil, err
	}
	set, err := put(other.content, steps, value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.Path, err)
	}
	other.content, _ = set.(map[string]any)
	return &other, nil
}

// step is a field of an object or a place in a list.
type step struct {
	field string
	place int
}

func stepsOf(path string) ([]step, error) {
	var steps []step
	for part := range strings.SplitSeq(path, ".") {
		field, rest, _ := strings.Cut(part, "[")
		if field == "" {
			return nil, fmt.Errorf("%s: a name is missing", path)
		}
		steps = append(steps, step{field: field})
		for rest != "" {
			number, more, found := strings.Cut(rest, "]")
			place, err := strconv.Atoi(number)
			if !found || err != nil || place < 0 || place > 99 {
				return nil, fmt.Errorf("%s: want a place in a list, as in [0], after %s", path, field)
			}
			steps = append(steps, step{place: place})
			rest = strings.TrimPrefix(more, "[")
		}
	}
	return steps, nil
}

// put sets a value at the end of some steps and returns what it was set in.
func put(in any, steps []step, value any) (any, error) {
	if len(steps) == 0 {
		return value, nil
	}
	first := steps[0]
	if first.field != "" {
		object, ok := in.(map[string]any)
		if !ok && in != nil {
			return nil, fmt.Errorf("%s is not the field of an object", first.field)
		}
		if object == nil {
			object = map[string]any{}
		}
		inner, err := put(object[first.field], steps[1:], value)
		object[first.field] = inner
		return object, err
	}
	list, ok := in.([]any)
	if !ok && in != nil {
		return nil, fmt.Errorf("[%d] is not in a list", first.place)
	}
	if first.place > len(list) {
		return nil, fmt.Errorf("[%d]: the list has %d entries", first.place, len(list))
	}
	if first.place == len(list) {
		list = append(list, nil)
	}
	inner, err := put(list[first.place], steps[1:], value)
	list[first.place] = inner
	return list, err
}
