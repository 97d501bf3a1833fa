package bounds_test

import (
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/bounds"
)

// TestRefused has a pod whose container requests 100m and 100 bytes, with limits of 200m and 200 bytes.
func TestRefused(t *testing.T) {
	of := func(r bounds.Range) *bounds.Ranges { return &bounds.Ranges{Container: r} }
	ofPods := func(r bounds.Range) *bounds.Ranges { return &bounds.Ranges{HasPod: true, Pod: r} }
	usual := vertical.Resized{Requests: vertical.Of(100, 100), Limits: vertical.Of(200, 200)}
	unlimited := vertical.Resized{Requests: usual.Requests}
	init := func(name string, sidecar bool, cpu vertical.Amount) vertical.InitContainer {
		has := vertical.Resized{Requests: vertical.Of(cpu, 1), Limits: vertical.Of(cpu, 1)}
		return vertical.InitContainer{Name: name, Sidecar: sidecar, Resized: has}
	}
	for why, c := range map[string]struct {
		after  vertical.Resized
		whole  vertical.Resized
		init   vertical.InitContainers
		ranges *bounds.Ranges
		want   string
	}{
		"nothing bounds it": {after: usual},
		"a request below zero": {after: vertical.Resized{Requests: vertical.Of(100, -1), Limits: usual.Limits},
			want: "memory of container web: the amount is below zero"},
		"a limit below zero": {after: vertical.Resized{Requests: vertical.Of(-2, 100), Limits: vertical.Of(-1, 200)},
			want: "cpu of container web: the amount is below zero"},
		"a limit of 0": {after: vertical.Resized{Requests: usual.Requests, Limits: vertical.Of(0, 200)},
			want: "cpu of container web: the request is above the limit"},
		"a request below the min": {after: usual, ranges: of(bounds.Range{Min: vertical.Of(100, 101)}),
			want: "memory of container web: the min of a LimitRange is not reached"},
		"a limit above the max": {after: usual, ranges: of(bounds.Range{Max: vertical.Of(199, 200)}),
			want: "cpu of container web: the max of a LimitRange is exceeded"},
		"no limit, which becomes the max": {after: unlimited, ranges: of(bounds.Range{Max: vertical.Of(100, 100)})},
		"a request above the max, which becomes the limit": {after: unlimited,
			ranges: of(bounds.Range{Max: vertical.Of(99, 100)}), want: "cpu of container web: the request is above the limit"},
		"a request above the default limit": {after: unlimited, ranges: of(bounds.Range{Default: vertical.Of(99, 100)}),
			want: "cpu of container web: the request is above the limit"},
		"the ratio is kept": {after: usual, ranges: of(bounds.Range{MaxRatioMilli: vertical.Of(2000, 2000)})},
		"the ratio is exceeded": {after: usual, ranges: of(bounds.Range{MaxRatioMilli: vertical.Of(2000, 1999)}),
			want: "memory of container web: the maxLimitRequestRatio of a LimitRange is exceeded"},
		"a ratio without a limit": {after: unlimited,
			ranges: of(bounds.Range{MaxRatioMilli: vertical.Amounts{}.With(vertical.CPU, 9000)}),
			want:   "cpu of container web: the maxLimitRequestRatio of a LimitRange is exceeded"},
		"an init container is below the min": {after: usual, init: vertical.InitContainers{init("migrate", false, 50)},
			ranges: of(bounds.Range{Min: vertical.Of(51, 1)}),
			want:   "cpu of container migrate: the min of a LimitRange is not reached"},
		"the pod is below the min": {after: usual, ranges: ofPods(bounds.Range{Min: vertical.Of(101, 100)}),
			want: "cpu of the pod: the min of a LimitRange is not reached"},
		"the pod with its sidecar is not": {after: usual, init: vertical.InitContainers{init("mesh", true, 1)},
			ranges: ofPods(bounds.Range{Min: vertical.Of(101, 100)})},
		"nor is the pod with an init container": {after: usual, init: vertical.InitContainers{init("migrate", false, 101)},
			ranges: ofPods(bounds.Range{Min: vertical.Of(101, 100)})},
		"a sidecar runs beside a later init container": {after: usual, init: vertical.InitContainers{
			init("mesh", true, 50), init("migrate", false, 200),
		}, ranges: ofPods(bounds.Range{Max: vertical.Of(249, 300)}),
			want: "cpu of the pod: the max of a LimitRange is exceeded"},
		"but not beside an earlier one": {after: usual, init: vertical.InitContainers{
			init("migrate", false, 200), init("mesh", true, 50),
		}, ranges: ofPods(bounds.Range{Max: vertical.Of(250, 300)})},
		"the pod has no limit": {after: unlimited, ranges: ofPods(bounds.Range{Max: vertical.Of(1000, 1000)}),
			want: "cpu of the pod: the max of a LimitRange is exceeded"},
		"the pod's own resources count": {after: unlimited, whole: vertical.Resized{Limits: vertical.Of(300, 300)},
			ranges: ofPods(bounds.Range{Max: vertical.Of(300, 300)})},
		"more than the pod requests": {after: usual, whole: vertical.Resized{Requests: vertical.Of(100, 99)},
			want: "memory of the pod: the containers request more than the pod's own resources"},
		"an init container requests more than the pod": {after: usual,
			init: vertical.InitContainers{init("migrate", false, 101)}, whole: vertical.Resized{Requests: vertical.Of(100, 100)},
			want: "cpu of the pod: the containers request more than the pod's own resources"},
		"a limit above the pod's": {after: usual, whole: vertical.Resized{Limits: vertical.Of(199, 200)},
			want: "cpu of container web: the limit is above the pod's own"},
	} {
		pod := bounds.Pod{Containers: []bounds.Container{{Name: "web"}}, Resources: c.whole, InitContainers: c.init}
		got, refused := bounds.Refused(pod, []vertical.Resized{c.after}, c.ranges)
		if refused != (c.want != "") || refused && got.String() != c.want {
			t.Errorf("%s: %t %q, want %q", why, refused, got, c.want)
		}
	}
}
