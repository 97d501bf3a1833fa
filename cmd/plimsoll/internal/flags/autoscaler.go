package flags

import (
	"cmp"
	"errors"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/observe"
)

// kinds are the names of the kinds, as kubectl knows them.
var kinds = map[string]observe.Kind{
	"hpa": observe.HorizontalPodAutoscaler, "horizontalpodautoscaler": observe.HorizontalPodAutoscaler,
	"wla": observe.WorkloadAutoscaler, "workloadautoscaler": observe.WorkloadAutoscaler,
	"vpa": observe.VerticalPodAutoscaler, "verticalpodautoscaler": observe.VerticalPodAutoscaler,
}

var errAutoscaler = errors.New("hpa/NAME, wla/NAME or vpa/NAME")

// workloads are short names of other kinds, as kubectl knows them.
var workloads = map[string]string{
	"deploy": "deployment", "sts": "statefulset", "rs": "replicaset", "ds": "daemonset", "rc": "replicationcontroller",
	"po": "pod",
}

// ParseAutoscaler reads hpa/NAME, or hpa NAME, as kubectl does.
func ParseAutoscaler(args []string) (kind observe.Kind, name string, err error) {
	text, name := split(args)
	kind, ok := kinds[strings.TrimSuffix(text, "s")]
	if !ok || name == "" {
		return kind, name, errAutoscaler
	}
	return kind, name, nil
}

// ParseTarget reads deploy/NAME, or another workload or a pod. The kind is in lower case, as deployment.
func ParseTarget(args []string) (kind, name string, ok bool) {
	kind, name = split(args)
	return cmp.Or(workloads[kind], strings.TrimSuffix(kind, "s")), name, kind != "" && name != ""
}

// split is the kind in lower case, without its group, and the name.
func split(args []string) (kind, name string) {
	switch len(args) {
	case 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case 2:
		kind, name = args[0], args[1]
	}
	kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
	return kind, name
}
