package podcache

import (
	"maps"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"weak"

	corev1 "k8s.io/api/core/v1"
)

// template has the fields that pods of one template have in common: most of a pod. It must not be changed.
type template struct {
	containers, initContainers []corev1.Container
	resources                  *corev1.ResourceRequirements
	overhead                   corev1.ResourceList
	priority                   *int32
}

// templates has the templates of all pods, by their text.
var templates = struct {
	// mu guards the following.
	mu   sync.Mutex
	held map[string]weak.Pointer[template]
}{held: map[string]weak.Pointer[template]{}}

// templateOf returns the shared template of a slim pod.
func templateOf(p *corev1.Pod) *template {
	key := keyOf(&p.Spec)
	templates.mu.Lock()
	defer templates.mu.Unlock()
	if known := templates.held[key].Value(); known != nil {
		return known
	}
	t := &template{
		containers: p.Spec.Containers, initContainers: p.Spec.InitContainers, resources: p.Spec.Resources,
		overhead: p.Spec.Overhead, priority: p.Spec.Priority,
	}
	templates.held[key] = weak.Make(t)
	goruntime.AddCleanup(t, forget, key)
	return t
}

// forget drops a template without pods, unless there is one again.
func forget(key string) {
	templates.mu.Lock()
	defer templates.mu.Unlock()
	if templates.held[key].Value() == nil {
		delete(templates.held, key)
	}
}

// keyOf returns a text that only equal templates share. Strings are quoted, so that none can look like the end of
// another.
func keyOf(spec *corev1.PodSpec) string {
	var text strings.Builder
	for _, all := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range all {
			addContainer(&text, &all[i])
		}
		text.WriteByte('/')
	}
	if spec.Resources != nil {
		addResources(&text, spec.Resources)
	}
	addResources(&text, &corev1.ResourceRequirements{Requests: spec.Overhead})
	if spec.Priority != nil {
		add(&text, strconv.Itoa(int(*spec.Priority)))
	}
	return text.String()
}

func addContainer(text *strings.Builder, c *corev1.Container) {
	add(text, c.Name)
	if c.RestartPolicy != nil {
		add(text, string(*c.RestartPolicy))
	}
	addResources(text, &c.Resources)
	for _, p := range c.ResizePolicy {
		add(text, string(p.ResourceName), string(p.RestartPolicy))
	}
	text.WriteByte('!')
	for i := range c.Env {
		add(text, c.Env[i].Value)
	}
	text.WriteByte(';')
}

func addResources(text *strings.Builder, r *corev1.ResourceRequirements) {
	for _, list := range []corev1.ResourceList{r.Requests, r.Limits} {
		for _, name := range slices.Sorted(maps.Keys(list)) {
			q := list[name]
			add(text, string(name), q.String())
		}
		text.WriteByte(':')
	}
}

func add(text *strings.Builder, words ...string) {
	for _, word := range words {
		text.WriteString(strconv.Quote(word))
	}
}
