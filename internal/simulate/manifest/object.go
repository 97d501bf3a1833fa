package manifest

import (
	"encoding/json"
	"fmt"
)

// FromValue is an object of the API that a program has. It must have its kind and its API version.
func FromValue(where string, object any) (Object, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return Object{}, fmt.Errorf("%s: %w", where, err)
	}
	var content map[string]any
	if err := json.Unmarshal(text, &content); err != nil {
		return Object{}, fmt.Errorf("%s: %w", where, err)
	}
	objects, err := appendObjects(nil, where, content)
	switch {
	case err != nil:
		return Object{}, err
	case len(objects) != 1:
		return Object{}, fmt.Errorf("%s: %d objects, want one", where, len(objects))
	}
	return objects[0], nil
}
