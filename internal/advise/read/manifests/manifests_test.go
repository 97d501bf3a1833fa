package manifests

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
)

const several = `# Only a comment.
---
apiVersion: v1
kind: List
items:
- {apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: old}, spec: {maxReplicas: 3, scaleTargetRef: {kind: Deployment, name: web}}}
- {apiVersion: example.com/v1, kind: Unknown, metadata: {name: any}, spec: {whatever: true}}
---
{"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "usual", "namespace": "shop"}, "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "50m"}}]}}
`

func TestRead(t *testing.T) {
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"inner/all.yml": several, "notes.txt": "kind: {{{"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Read([]string{folder, "-"},
		strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(several, "old", "older"), "usual", "unusual")))
	if err != nil || len(c.Horizontals) != 2 || len(c.Ranges) != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	h := c.Horizontals[0]
	if !h.IsV1 || h.MinReplicas() != 1 || *h.Metrics()[0].Resource.Target.AverageUtilization != 80 ||
		h.Namespace != "default" {
		t.Errorf("the HPA is %+v", h)
	}
	if place := c.Ranges[0].Place; place.Document != 3 || place.Line != 9 {
		t.Errorf("the LimitRange is at %+v, want document 3 in line 9", place)
	}
}

// What cannot be read is reported with its place, and everything else is read.
func TestTheRestIsRead(t *testing.T) {
	const fine = "apiVersion: v1\nkind: LimitRange\nmetadata: {name: usual}\n"
	deep := strings.Repeat("[", 1<<20)
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 8), c-1)
	}
	deployment := func(cpu string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {}, template: {spec: " +
			"{containers: [{name: web, resources: {requests: {cpu: " +
			cpu + "}}}]}}}"
	}
	for content, want := range map[string]string{
		"kind: [":                        "It cannot be read: ",
		"{{ if .Values.enabled }}\na: b": "It cannot be read: ",
		"- a list":                       "it is not an object",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {templte: {}}": `unknown field "spec.templte"`,
		"kind: A\nkind: B": "already set",
		"apiVersion: v1\nkind: List\nitems: [null, {apiVersion: v1, kind: LimitRange, metadata: {name: other}}]": "item 0 of the List is not an object",
		deployment(`"1e-999999999"`):                       "spec.template.spec.containers[0].resources.requests[cpu]",
		deployment(`"1e999999999"`):                        "spec.template.spec.containers[0].resources.requests[cpu]",
		deployment(`1E-1000000000000`):                     "",
		deployment(`"1\u0065-999999999"`):                  "spec.template.spec.containers[0].resources.requests[cpu]",
		deployment(`"` + strings.Repeat("9", 1<<20) + `"`): "spec.template.spec.containers[0].resources.requests[cpu]",
		bomb: "excessive aliasing",
		deep: "exceeded max depth",
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		done := make(chan struct{})
		c := &objects.Collection{}
		go func() {
			defer close(done)
			Add(c, "web.yaml", strings.NewReader(fine+"---\n"+content+"\n---\n"+strings.Replace(fine, "usual", "last", 1)))
		}()
		select {
		case <-done:
		case <-ctx.Done():
			t.Fatalf("%.60q: not read within 30 s", content)
		}
		cancel()
		if len(c.Ranges) < 2 {
			t.Errorf("%.60q: %d LimitRanges are read, want those before and behind it", content, len(c.Ranges))
		}
		if want == "" {
			continue
		}
		line := 5
		if strings.Contains(want, "of the List") {
			line = 7 // That of the items.
		}
		if len(c.Unreadable) != 1 || !strings.Contains(c.Unreadable[0].Why, want) || len(c.Unreadable[0].Why) > 400 ||
			!isAt(c.Unreadable[0].Object.Place, objects.Place{File: "web.yaml", Document: 2, Line: line}) {
			t.Errorf("%.60q: %+v, want %q in it", content, c.Unreadable, want)
		}
	}
	c := &objects.Collection{}
	Add(c, "patch.yaml", strings.NewReader("- {op: remove, path: /spec/replicas}\n- {op: add, path: /a, value: b}"))
	if len(c.Unreadable) != 0 {
		t.Errorf("a JSON patch: %+v", c.Unreadable)
	}
	Add(c, "big.yaml", strings.NewReader(strings.Repeat("#", maxBytes+1)))
	if len(c.Unreadable) != 1 || !strings.Contains(c.Unreadable[0].Why, "more than 16 MiB") {
		t.Errorf("%+v", c.Unreadable)
	}
}

// TestLines: a field is on the line that the file has it on, also behind empty lines.
func TestLines(t *testing.T) {
	for before, want := range map[string]int{"": 3, "\n\n": 5, "# Comment.\n\n": 5, "---\n\n \n": 6} {
		c := &objects.Collection{}
		Add(c, "range.yaml", strings.NewReader(before+"apiVersion: v1\nkind: LimitRange\nspec: 1\n"))
		if why := fmt.Sprintf(" (line %d)", want); len(c.Unreadable) != 1 || !strings.Contains(c.Unreadable[0].Why, why) &&
			c.Unreadable[0].Object.Place.Line != want {
			t.Errorf("%q: %+v, want line %d", before, c.Unreadable, want)
		}
	}
}

// TestLinesInLists: an item of a List is on its own line, and so are its fields.
func TestLinesInLists(t *testing.T) {
	const item = "- apiVersion: v1\n  kind: LimitRange\n  metadata: {name: a}\n  spec: 1\n"
	c := &objects.Collection{}
	Add(c, "list.yaml", strings.NewReader("# Comment.\napiVersion: v1\nkind: List\nitems:\n"+item+item))
	if len(c.Unreadable) != 2 {
		t.Fatalf("%+v", c.Unreadable)
	}
	for i, want := range []int{5, 9} {
		u := c.Unreadable[i]
		if u.Object.Place.Line != want || !strings.Contains(u.Why, fmt.Sprintf(" (line %d)", want+3)) {
			t.Errorf("item %d at %d: %s", i, u.Object.Place.Line, u.Why)
		}
	}
}

// The last of several objects of a name counts; a part of one, as overlays have them,
// does not take the whole one's place.
func TestObjectsInTwoPlaces(t *testing.T) {
	web := func(image string) string {
		return "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {selector: {matchLabels: {app: web}}, " +
			"template: {metadata: {labels: {app: web}}, " +
			"spec: {containers: [{name: web, image: " + image + "}]}}}\n"
	}
	c := &objects.Collection{}
	Add(c, "base.yaml", strings.NewReader(web("old")))
	Add(c, "overlay.yaml", strings.NewReader("# Comment.\n"+web("new")))
	Add(c, "patch.yaml",
		strings.NewReader("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: 3}\n"))
	Add(c, "elsewhere.yaml",
		strings.NewReader(strings.Replace(web("other"), "{name: web}", "{name: web, namespace: shop}", 1)))
	if len(c.Workloads) != 2 || c.Workloads[0].Template.Spec.Containers[0].Image != "new" ||
		c.Target("default", "apps/v1", "Deployment", "web") != c.Workloads[0] {
		t.Errorf("%d workloads, the first with %+v", len(c.Workloads), c.Workloads[0].Template.Spec)
	}
	if len(c.Repeated) != 2 || c.Repeated[0].Before.File != "base.yaml" || c.Repeated[1].Before.File != "overlay.yaml" {
		t.Errorf("%+v", c.Repeated)
	}
	if others, _ := c.Selected(c.Workloads[0]); len(others) != 1 {
		t.Errorf("it is compared with %d others", len(others)-1)
	}
}

func isAt(p, want objects.Place) bool {
	return p.File == want.File && p.Document == want.Document && p.Line == want.Line
}

// Whatever a file or a folder has is read, or named: nothing is taken to be absent.
func TestNothingIsOverlooked(t *testing.T) {
	const hpa = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: NAME}, " +
		"spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}"
	const other = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}\n"
	named := func(name string) string { return strings.ReplaceAll(hpa, "NAME", name) }
	inJSON := func(name string) string {
		text, err := yaml.YAMLToJSON([]byte(named(name)))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for content, want := range map[string]string{
		named("web"): "web at 1",
		other + "---  # two spaces\n" + named("web"):                        "web at 5",
		other + "---\t\r\n" + named("web"):                                  "web at 5",
		other + "--- " + named("web"):                                       "web at 4",
		other + "...\n" + named("web"):                                      "web at 5",
		inJSON("a") + inJSON("b") + "\n\n" + inJSON("c") + "\n# The end.\n": "a at 1, b at 1, c at 1",
		"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: List, items: [" + named("web") + "]}": "web at 4",
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscalerList\nitems:\n- " +
			strings.Replace(named("web"), "apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, ", "", 1): "web at 4",
		"name: web\n" + other + "name: other\n": "; already set",
		"base: &base {name: web, namespace: shop}\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\n" +
			"metadata: {<<: *base, name: own}\nspec: {maxReplicas: 3}\n": "own at 1; unknown",
		strings.Replace(named("web"), " kind:", " Kind:", 1): "; it has no kind",
		"apiVersion: v2\nname: a-chart\nversion: 1.0.0\n":    "",
		"replicas: 3\nautoscaling: {enabled: true}\n":        "",
		"apiVersion: template.openshift.io/v1\nkind: Template\nobjects:\n- " + named("web"): "" +
			"; the Template has a HorizontalPodAutoscaler in it",
		"apiVersion: example.com/v1\nkind: Canary\nspec: {autoscalerRef: {apiVersion: autoscaling/v2, " +
			"kind: HorizontalPodAutoscaler, name: web}}\n": "",
	} {
		c := &objects.Collection{}
		Add(c, "web.yaml", strings.NewReader(content))
		var got []string
		for _, h := range c.Horizontals {
			got = append(got, fmt.Sprintf("%s at %d", h.Name, h.Place.Line))
		}
		names, wanted, _ := strings.Cut(want, "; ")
		if strings.Join(got, ", ") != names || (len(c.Unreadable) > 0) != (wanted != "") ||
			wanted != "" && !strings.Contains(c.Unreadable[0].Why, wanted) {
			t.Errorf("%s\n%v, %+v; want %s", content, got, c.Unreadable, want)
		}
	}
}

// Files are read through links, each once. A folder without any is an error.
func TestLinks(t *testing.T) {
	root := t.TempDir()
	mounted, linked := filepath.Join(root, "mounted"), filepath.Join(root, "linked")
	for _, folder := range []string{"mounted/..2026", "elsewhere", "empty"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"mounted/..2026/a.yaml", "elsewhere/b.yaml", "empty/notes.txt"} {
		content := "apiVersion: v1\nkind: LimitRange\nmetadata: {name: " + filepath.Base(file) + "}\n"
		if err := os.WriteFile(filepath.Join(root, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"mounted/..data": "..2026", "mounted/a.yaml": "..data/a.yaml", "mounted/b.yaml": "../elsewhere/b.yaml",
		"mounted/gone.yaml": "nowhere", "linked": "mounted",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{mounted, linked} {
		if c, err := Read([]string{path}, nil); err != nil || len(c.Ranges) != 2 || len(c.Repeated) != 0 ||
			len(c.Unreadable) != 1 || filepath.Base(c.Unreadable[0].Object.Place.File) != "gone.yaml" {
			t.Errorf("%s: %+v, %v", path, c, err)
		}
	}
	if _, err := Read([]string{filepath.Join(root, "empty")}, nil); err == nil {
		t.Error("a folder without manifests is no error")
	}
}

// TestWholeFile: a patch of a file changes each object in it, so it is for a file of one alone.
func TestWholeFile(t *testing.T) {
	one := "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3}}\n"
	inJSON, err := yaml.YAMLToJSON([]byte(one))
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]bool{
		one:                             true,
		"---\n" + one:                   true,
		string(inJSON):                  true,
		one + "---\n" + one:             false,
		string(inJSON) + string(inJSON): false,
		"apiVersion: v1\nkind: List\nitems:\n- " + one:                                                 false,
		"apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscalerList\nitems:\n- " + one + "- " + one: false,
	} {
		c := &objects.Collection{}
		Add(c, "web.yaml", strings.NewReader(content))
		if len(c.Horizontals) == 0 {
			t.Errorf("nothing is read of %q", content)
		}
		for _, h := range c.Horizontals {
			if h.Place.IsWholeFile != want {
				t.Errorf("%q: is the whole file: %v", content, !want)
			}
		}
	}
}
