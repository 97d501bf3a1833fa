package read

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/config"
	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// Folders and names in config/.
const (
	verticalFolder    = "vertical/"
	shippedNamespace  = "plimsoll-system"
	shippedReader     = "plimsoll-kubelet-reader"
	shippedController = "plimsoll-controller"
	shippedAdmission  = "plimsoll-admission-controller"
)

// manifest is an object of config/.
type manifest struct {
	file string
	text []byte
	kind metav1.PartialObjectMetadata
}

// manifests are all objects of config/ that an installation makes.
func manifests() ([]manifest, error) {
	var all []manifest
	err := fs.WalkDir(config.Manifests, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") || entry.Name() == "kustomization.yaml" {
			return err
		}
		content, err := fs.ReadFile(config.Manifests, path)
		if err != nil {
			return err
		}
		for document := range strings.SplitSeq("\n"+string(content), "\n---\n") {
			m := manifest{file: path, text: []byte(document)}
			if err := yaml.Unmarshal(m.text, &m.kind); err != nil {
				return fmt.Errorf("config/%s: %w", path, err)
			}
			if m.kind.Kind != "" {
				all = append(all, m)
			}
		}
		return nil
	})
	return all, err
}

// grants are the rights that config/ grants to accounts, under the names that it ships.
func grants(all []manifest) ([]grant, error) {
	rules := map[[3]string][]rbacv1.PolicyRule{}
	var bindings []rbacv1.RoleBinding
	var files []string
	for i := range all {
		m := &all[i]
		switch m.kind.Kind {
		case "ClusterRole", "Role":
			var role rbacv1.Role // a ClusterRole has the same rules
			if err := yaml.Unmarshal(m.text, &role); err != nil {
				return nil, fmt.Errorf("config/%s: %w", m.file, err)
			}
			rules[[3]string{m.kind.Kind, role.Namespace, role.Name}] = role.Rules
		case "ClusterRoleBinding", "RoleBinding":
			var binding rbacv1.RoleBinding
			if err := yaml.Unmarshal(m.text, &binding); err != nil {
				return nil, fmt.Errorf("config/%s: %w", m.file, err)
			}
			bindings, files = append(bindings, binding), append(files, m.file)
		}
	}
	var granted []grant
	for i := range bindings {
		b := &bindings[i]
		namespace := b.Namespace
		if b.RoleRef.Kind == "ClusterRole" {
			namespace = ""
		}
		for _, subject := range b.Subjects {
			for _, right := range rightsOf(rules[[3]string{b.RoleRef.Kind, namespace, b.RoleRef.Name}]) {
				right.Role, right.Namespace = b.RoleRef.Kind+" "+b.RoleRef.Name, b.Namespace
				granted = append(granted, grant{Right: right, account: subject.Name,
					isVertical: strings.HasPrefix(files[i], verticalFolder)})
			}
		}
	}
	return granted, nil
}

// grant is a right of an account.
type grant struct {
	doctor.Right
	// account is the name that config/ ships.
	account    string
	isVertical bool
}

func rightsOf(rules []rbacv1.PolicyRule) []doctor.Right {
	var all []doctor.Right
	for i := range rules {
		rule := &rules[i]
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				all = append(all, pairs(rule.Verbs, names, func(verb, name string) doctor.Right {
					return doctor.Right{Verb: verb, Group: group, Resource: resource, Name: name}
				})...)
			}
		}
	}
	return all
}

// pairs makes something of each pair.
func pairs[T any](first, second []string, of func(a, b string) T) []T {
	var all []T
	for _, a := range first {
		for _, b := range second {
			all = append(all, of(a, b))
		}
	}
	return all
}

// canonical is JSON in which equal values have equal texts.
func canonical(raw json.RawMessage) (string, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", err
	}
	text, err := json.Marshal(value)
	return string(text), err
}
