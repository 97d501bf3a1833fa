package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// maxBytes is the largest accepted size of a file.
const maxBytes = 16 << 20

// Object is one object of a file.
type Object struct {
	// Where says from which file and document it is.
	Where   string
	Kind    string
	Name    string
	content map[string]any
}

// ReadFile reads the objects of a file, those in Lists one by one.
func ReadFile(name string) ([]Object, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return Read(name, file)
}

// Read reads objects.
func Read(name string, r io.Reader) ([]Object, error) {
	limited := &io.LimitedReader{R: r, N: maxBytes}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(limited))
	var objects []Object
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		where := fmt.Sprintf("%s: document %d", name, n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if len(bytes.TrimSpace(document)) == 0 {
			continue
		}
		var content map[string]any
		if err := yaml.Unmarshal(document, &content, yaml.DisallowUnknownFields); err != nil {
			return nil, fmt.Errorf("%s: %w", where, err)
		}
		if objects, err = appendObjects(objects, where, content); err != nil {
			return nil, err
		}
	}
	if limited.N <= 0 {
		return nil, fmt.Errorf("%s: more than %d MiB", name, maxBytes>>20)
	}
	if len(objects) == 0 {
		return nil, fmt.Errorf("%s: there is no object in it", name)
	}
	return objects, nil
}

func appendObjects(objects []Object, where string, content map[string]any) ([]Object, error) {
	if content == nil {
		return objects, nil // only comments
	}
	kind, _ := content["kind"].(string)
	if kind == "" {
		return nil, fmt.Errorf("%s: it has no kind", where)
	}
	if kind != "List" {
		metadata, _ := content["metadata"].(map[string]any)
		name, _ := metadata["name"].(string)
		return append(objects, Object{Where: where, Kind: kind, Name: name, content: content}), nil
	}
	items, _ := content["items"].([]any)
	for i, item := range items {
		inner, _ := item.(map[string]any)
		var err error
		if objects, err = appendObjects(objects, fmt.Sprintf("%s, item %d", where, i), inner); err != nil {
			return nil, err
		}
	}
	return objects, nil
}
