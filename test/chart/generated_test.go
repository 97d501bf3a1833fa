package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// copies are the files that the chart has as they stand in config/: templates would take the braces of alerts for theirs.
func copies(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"crd/*.yaml", "crd/plimsoll/plimsoll.dev_*.yaml"} {
		paths, err := filepath.Glob(filepath.Join(configDir, pattern))
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %v, %v", pattern, paths, err)
		}
		for _, path := range paths {
			found["files/crds/"+filepath.Base(path)] = read(t, path)
		}
	}
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		found["files/monitoring/"+name] = read(t, filepath.Join(configDir, "monitoring", name))
	}
	return found
}

// rights are the templates of roles and their bindings, by where in config/ they come from.
var rights = map[string]struct {
	from []string
	when string
}{
	"controller.yaml":           {from: []string{"base/clusterrole.yaml", "base/role.yaml", "base/kubelet-reader.yaml"}},
	"users.yaml":                {from: []string{"base/workloadautoscaler-roles.yaml", "base/explain.yaml"}},
	"recommender.yaml":          {from: []string{"vertical/recommender.yaml"}, when: ".Values.vertical.enabled"},
	"updater.yaml":              {from: []string{"vertical/updater.yaml"}, when: ".Values.vertical.enabled"},
	"admission-controller.yaml": {from: []string{"vertical/admission.yaml"}, when: ".Values.vertical.enabled"},
	"sources.yaml":              {from: []string{"sources/services.yaml"}, when: ".Values.sources.services"},
	"source-secrets.yaml":       {from: []string{"sources/secrets/secrets.yaml"}, when: ".Values.sources.secrets"},
	"node-agent.yaml":           {from: []string{"node-agent/rights.yaml"}, when: ".Values.nodeAgent.enabled"},
	"scalers.yaml":              {from: []string{"scalers/rights.yaml"}, when: ".Values.scalers.enabled"},
}

// isRight are the kinds that grant.
var isRight = map[string]bool{"ClusterRole": true, "ClusterRoleBinding": true, "Role": true, "RoleBinding": true}

// nameLine is the line of metadata after which labels are added.
var nameLine = regexp.MustCompile(`(?m)^metadata:\n  name: .*\n(  namespace: .*\n)?(  labels:\n)?`)

// template makes a template of what grants something in files of config/: the text as it stands there, its comments
// too, in the namespaces of the release and with its labels.
func template(t *testing.T, from []string, when string) string {
	t.Helper()
	var documents []string
	for _, path := range from {
		for _, document := range strings.Split(read(t, filepath.Join(configDir, path)), "\n---\n") {
			var object struct{ Kind string }
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if isRight[object.Kind] {
				documents = append(documents, labelled(t, path, strings.TrimSpace(document)))
			}
		}
	}
	text := strings.Join(documents, "\n---\n") + "\n"
	text = strings.ReplaceAll(text, "namespace: plimsoll-system\n", "namespace: {{ .Release.Namespace | quote }}\n")
	text = strings.ReplaceAll(text, "namespace: plimsoll-node-agent\n",
		"namespace: {{ .Values.nodeAgent.namespace.name | quote }}\n")
	head := "{{- /* Written by make chart, from config/: " + strings.Join(from, ", ") + ". Change it there. */ -}}\n"
	if when != "" {
		return head + "{{- if " + when + " }}\n" + text + "{{- end }}\n"
	}
	return head + text
}

// labelled adds the labels of the release to a document.
func labelled(t *testing.T, path, document string) string {
	t.Helper()
	if strings.Contains(document, "{{") || len(nameLine.FindAllString(document, -1)) != 1 {
		t.Fatalf("%s: no template can be made of\n%s", path, document)
	}
	return nameLine.ReplaceAllStringFunc(document, func(found string) string {
		if !strings.Contains(found, "  labels:\n") {
			found += "  labels:\n"
		}
		return found + "    {{- include \"plimsoll.labels\" . | nindent 4 }}\n"
	})
}

// TestWhatConfigHasToo: what the chart has of config/ is as it stands there, and there is nothing else beside it.
func TestWhatConfigHasToo(t *testing.T) {
	want := copies(t)
	for name, source := range rights {
		want["templates/rights/"+name] = template(t, source.from, source.when)
	}
	for path, text := range want {
		compareFile(t, filepath.Join(chartDir, path), text)
	}
	for _, folder := range []string{"files", "templates/rights"} {
		err := filepath.WalkDir(filepath.Join(chartDir, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			name, err := filepath.Rel(chartDir, path)
			if err == nil && want[name] == "" {
				err = fmt.Errorf("%s comes from nowhere in config/; there are %q", name, slices.Sorted(maps.Keys(want)))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}
