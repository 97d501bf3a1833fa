package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
)

// TestCommandsNameNoOtherNamespace: a patch for a manifest without a namespace names none, so that kubectl takes the
// context's, as it does where the manifest is applied; and no name runs a command of its own when it is pasted.
func TestCommandsNameNoOtherNamespace(t *testing.T) {
	const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {METADATA}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: a}]}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {METADATA}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
`
	for metadata, want := range map[string]struct{ command, namespace string }{
		"name: web":                          {"kubectl patch deployment web --type=json", ""},
		"name: web, namespace: default":      {"kubectl patch deployment web -n default --type=json", "default"},
		"name: web, namespace: \"a;reboot\"": {"kubectl patch deployment web -n 'a;reboot' --type=json", "a;reboot"},
	} {
		c := &objects.Collection{}
		manifests.Add(c, "web.yaml", strings.NewReader(strings.ReplaceAll(manifest, "METADATA", metadata)))
		commands, created := 0, 0
		for _, f := range Run(c, All()).Findings {
			switch {
			case f.Patch == nil:
			case f.Patch.Create != nil:
				created++
				made, _ := f.Patch.Create["metadata"].(map[string]any)
				if namespace, _ := made["namespace"].(string); namespace != want.namespace {
					t.Errorf("%s: it creates one in namespace %q", metadata, namespace)
				}
			case !f.Patch.IsLocal && f.Object.Kind == objects.Deployment:
				commands++
				if command := f.Patch.Command(); !strings.HasPrefix(command, want.command) {
					t.Errorf("%s: %s", metadata, command)
				}
			}
		}
		if commands == 0 || created == 0 {
			t.Errorf("%s: %d patches, %d objects to create", metadata, commands, created)
		}
	}
}

// TestCommandsCanBePasted: a shell gives kubectl the operations of each patch, or the object to create, with no name left
// to replace.
func TestCommandsCanBePasted(t *testing.T) {
	bin := t.TempDir()
	const kubectl = "#!/bin/sh\nprintf '%s\\n' \"$@\"\ncat\n"
	if err := os.WriteFile(filepath.Join(bin, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	patches, created, local := 0, 0, 0
	for _, rule := range All() {
		bad := load(t, filepath.Join("testdata", "rules", rule.Name, "bad.yaml"))
		for _, f := range Run(bad, []*Rule{rule}).Findings {
			if f.Patch == nil {
				continue
			}
			command, want := f.Patch.Command(), f.Patch.json()
			switch {
			case f.Patch.Create != nil:
				created, want = created+1, f.Patch.YAML()
			case f.Patch.IsLocal && command == "":
				local++
				continue
			default:
				patches++
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", command)
			cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
			got, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(got), want) || strings.Contains(command, "FILE") {
				t.Errorf("%s: %v: kubectl gets\n%s\nof\n%s", rule.Name, err, got, command)
			}
		}
	}
	if patches == 0 || created == 0 || local == 0 {
		t.Errorf("%d patches, %d objects to create, %d manifests that no command can name", patches, created, local)
	}
}

// TestLocalPatch: a manifest that is a file of its own is named.
func TestLocalPatch(t *testing.T) {
	for place, want := range map[objects.Place]string{
		{File: "a b.yaml", IsWholeFile: true}: "kubectl patch --local -o yaml -f 'a b.yaml' --type=json -p '[]'",
		{File: "many.yaml"}:                   "",
	} {
		p := Patch{Object: &objects.Object{Place: place}, Operations: []Operation{}, IsLocal: true}
		if got := p.Command(); got != want {
			t.Errorf("%+v: %q, want %q", place, got, want)
		}
	}
}

// TestPatchOnce: where two rules would patch the same field of an object, the worse finding has the patch, and the
// other one names it.
func TestPatchOnce(t *testing.T) {
	const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: app
        image: a
        resources: {requests: {cpu: 500m, memory: 1Gi}, limits: {cpu: 500m, memory: 1Gi}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 2
  maxReplicas: 5
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 95}}}]
`
	c := &objects.Collection{}
	manifests.Add(c, "web.yaml", strings.NewReader(manifest))
	findings := map[string]Finding{}
	for _, f := range Run(c, All()).Findings {
		findings[f.Rule.Name] = f
	}
	worse, less := findings["target-beyond-limit"], findings["target-without-headroom"]
	if worse.Rule == nil || worse.Patch == nil || less.Rule == nil || less.Patch != nil ||
		!strings.HasSuffix(less.Remedy, "The patch of target-beyond-limit mends this too.") {
		t.Errorf("%+v\n%+v", worse, less)
	}
}

// TestPatchesOfOthers: a patch covers one of the same fields of the same object alone.
func TestPatchesOfOthers(t *testing.T) {
	web, shop := &objects.Object{Name: "web"}, &objects.Object{Name: "shop"}
	one := func(o *objects.Object, op, path string, value any) *Patch {
		return &Patch{Object: o, Operations: []Operation{{Op: op, Path: path, Value: value}}}
	}
	cpu, memory := map[string]any{"cpu": 1}, map[string]any{"memory": 1}
	create := func(o *objects.Object) *Patch { return &Patch{Object: o, Create: map[string]any{}} }
	for name, tt := range map[string]struct {
		p, by *Patch
		want  bool
	}{
		"the same":      {one(web, "add", "/spec/a", 1), one(web, "add", "/spec/a", 1), true},
		"another value": {one(web, "replace", "/spec/a", 1), one(web, "replace", "/spec/a", 2), false},
		"another target": {one(web, "replace", "/spec/averageUtilization", 80),
			one(web, "replace", "/spec/averageUtilization", 60), true},
		"another map":           {one(web, "replace", "/spec/a", cpu), one(web, "replace", "/spec/a", memory), false},
		"another object":        {one(web, "replace", "/spec/a", 1), one(shop, "replace", "/spec/a", 1), false},
		"another field":         {one(web, "replace", "/spec/a", 1), one(web, "replace", "/spec/b", 1), false},
		"both add to a list":    {one(web, "add", "/spec/a/-", 1), one(web, "add", "/spec/a/-", 2), false},
		"both create an object": {create(web), create(web), false},
		"there is no other one": {one(web, "add", "/spec/a", 1), nil, false},
	} {
		if got := tt.p.isCovered(tt.by); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
