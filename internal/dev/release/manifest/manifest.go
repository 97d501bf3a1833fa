// Package manifest renders what a user of a release applies to a cluster: the objects of config/ with the release's
// image, and the CustomResourceDefinitions alone.
package manifest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// Installation renders the kustomization in a folder of config, such as "." or "horizontal", with the image, a name
// without tag, at the tag. It begins with the comment, which has no line breaks.
func Installation(config, folder, image, tag, comment string) ([]byte, error) {
	files, err := load(os.DirFS(config))
	if err != nil {
		return nil, err
	}
	overlay, err := yaml.Marshal(map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
		"resources": []string{path.Join("../config", folder)},
		"images":    []map[string]string{{"name": image, "newTag": tag}},
	})
	if err != nil {
		return nil, fmt.Errorf("overlay: %w", err)
	}
	if err := files.WriteFile("/release/kustomization.yaml", overlay); err != nil {
		return nil, fmt.Errorf("overlay: %w", err)
	}
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/release")
	if err != nil {
		return nil, fmt.Errorf("config/%s: %w", folder, err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("config/%s: %w", folder, err)
	}
	if want := image + ":" + tag; !bytes.Contains(text, []byte(want)) {
		return nil, fmt.Errorf("config/%s: nothing in it runs %s", folder, want)
	}
	return append([]byte("# "+comment+"\n"), text...), nil
}

// load copies the files into memory, below /config.
func load(config fs.FS) (filesys.FileSystem, error) {
	files := filesys.MakeFsInMemory()
	err := fs.WalkDir(config, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		content, err := fs.ReadFile(config, name)
		if err != nil {
			return err
		}
		return files.WriteFile(path.Join("/config", name), content)
	})
	if err != nil {
		return nil, fmt.Errorf("config: %w", err)
	}
	return files, nil
}

// Definitions are the CustomResourceDefinitions in config/crd, in the order of their names.
func Definitions(config, comment string) ([]byte, error) {
	files := os.DirFS(config)
	var names []string
	for _, pattern := range []string{"crd/*.yaml", "crd/*/*.yaml"} {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, fmt.Errorf("definitions: %w", err)
		}
		names = append(names, found...)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return path.Base(name) == "kustomization.yaml" })
	if len(names) == 0 {
		return nil, errors.New("definitions: none in config/crd")
	}
	slices.SortFunc(names, func(a, b string) int { return strings.Compare(path.Base(a), path.Base(b)) })
	out := []byte("# " + comment + "\n")
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("definitions: %w", err)
		}
		var object struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(text, &object); err != nil || object.Kind != "CustomResourceDefinition" {
			return nil, fmt.Errorf("%s has the kind %q: %w", name, object.Kind, err)
		}
		out = append(out, "---\n"...)
		out = append(append(out, bytes.TrimPrefix(bytes.TrimSpace(text), []byte("---\n"))...), '\n')
	}
	return out, nil
}
