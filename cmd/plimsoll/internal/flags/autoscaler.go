package flags

import (
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

// ParseAutoscaler reads hpa/NAME, or hpa NAME, as kubectl does.
func ParseAutoscaler(args []string) (kind observe.Kind, name string, err error) {
	plural := ""
	switch {
	case len(args) == 1:
		plural, name, _ = strings.Cut(args[0], "/")
	case len(args) == 2:
		plural, name = args[0], args[1]
	}
	plural, _, _ = strings.Cut(strings.ToLower(plural), ".")
	kind, ok := kinds[strings.TrimSuffix(plural, "s")]
	if !ok || name == "" {
		return kind, name, errAutoscaler
	}
	return kind, name, nil
}
