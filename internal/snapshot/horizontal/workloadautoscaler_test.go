package horizontal

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	observehorizontal "github.com/plimsoll-dev/plimsoll/internal/observe/horizontal"
)

const wlaItem = `
- apiVersion: plimsoll.dev/v1alpha1
  kind: WorkloadAutoscaler
  metadata: {name: web, namespace: shop, creationTimestamp: "2026-11-01T00:00:00Z"}
  spec:
    scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
    minReplicas: 0
    scaleToZero: {}
    maxReplicas: 5
    metrics:
    - name: queue
      type: External
      external: {metric: {name: queue}, target: {type: Value, value: "30"}}
      fallback: {replicas: 3}
      activationValue: "5"
    schedules: [{name: day, start: 0 8 * * *, durationSeconds: 36000, minReplicas: 2}]
    mode: Preview
  status:
    desiredReplicas: 2
    conditions:
    - {type: ScheduleActive, status: "True", reason: ScheduleInForce, message: "",
       lastTransitionTime: "2026-11-20T08:00:00Z"}`

var wlaDocument = strings.Replace(document, hpaItem, wlaItem, 1)

// TestWorkloadAutoscaler: a live decision on one is saved with all its inputs, and read back.
func TestWorkloadAutoscaler(t *testing.T) {
	step := stepOf(t, wlaDocument)
	target, _ := observehorizontal.Target(step.Scale)
	refusal := horizontal.Refusal{Reason: "ManagedByOther", Message: "HorizontalPodAutoscaler web scales the target"}
	saved := again(t, Of(&Live{
		Autoscaler: step.Autoscaler(), Scale: step.Scale, Options: observehorizontal.DefaultOptions(),
		State: &horizontal.State{}, Observation: &horizontal.Observation{Target: target, Refusal: refusal},
	}))
	if diff := cmp.Diff(step.Workload, saved.Workload); diff != "" || KeyOf(saved) != observe.WLA("shop", "web") {
		t.Errorf("%v (-live +saved):\n%s", KeyOf(saved), diff)
	}
	p := saved.Policy(observehorizontal.DefaultOptions())
	if w := p.WorkloadAutoscaler; w == nil || len(w.Schedules) != 1 ||
		p.Metrics[0].Fallback.FailureDuration != 3*time.Minute || p.Metrics[0].ActivationMilli != 5000 {
		t.Errorf("the policy is %+v", p)
	}
	o, err := saved.Observe(&p)
	created := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if err != nil || o.Refusal != refusal || !o.Shown.ScheduleActive || o.Shown.FallbackActive ||
		!o.CreatedAt.Equal(created) {
		t.Errorf("observed %+v, %v", o, err)
	}
}

// TestNoMetrics: an empty list of a WorkloadAutoscaler and an absent one mean none.
func TestNoMetrics(t *testing.T) {
	from, to := strings.Index(wlaDocument, "    metrics:"), strings.Index(wlaDocument, "    schedules:")
	for _, metrics := range []string{"    metrics: []\n", "    metrics:\n", ""} {
		step := again(t, stepOf(t, wlaDocument[:from]+metrics+wlaDocument[to:]))
		if got := step.Autoscaler().NumMetrics(); got != 0 || len(step.Workload.Spec.Metrics) != 0 {
			t.Errorf("%q: %d metrics", metrics, got)
		}
	}
}

// TestUnreadableSchedule: a schedule that the API server accepts and the controller refuses is refused.
func TestUnreadableSchedule(t *testing.T) {
	step := stepOf(t, strings.Replace(wlaDocument, "0 8 * * *", "61 8 * * *", 1))
	p := step.Policy(observehorizontal.DefaultOptions())
	o, err := step.Observe(&p)
	if err != nil || o.Refusal.Reason != "InvalidSpec" || !strings.Contains(o.Refusal.Message, "spec.schedules[0].start") {
		t.Errorf("%+v, %v", o.Refusal, err)
	}
}

func TestWorkloadAutoscalerErrors(t *testing.T) {
	with := func(old, replacement string) string {
		if !strings.Contains(wlaDocument, old) {
			t.Fatalf("%q is not in the document", old)
		}
		return strings.Replace(wlaDocument, old, replacement, 1)
	}
	for why, c := range map[string]struct{ document, want string }{
		"beside an HPA": {
			wlaDocument + hpaItem,
			"document 1: items: a HorizontalPodAutoscaler and a WorkloadAutoscaler, a step has one of them",
		},
		"twice": {
			wlaDocument + wlaItem, "document 1: item 4 (WorkloadAutoscaler shop/web): second of its kind, a step has one",
		},
		"a quantity that takes hours": {
			with(`"30"`, `"1e999999999"`), "document 1: item 1 (WorkloadAutoscaler shop/web): ",
		},
		"an activation value that takes hours": {
			with(`"5"`, `"1e999999999"`), "document 1: item 1 (WorkloadAutoscaler shop/web): ",
		},
		"an unknown field": {
			with("mode:", "modus:"), `document 1: item 1 (WorkloadAutoscaler shop/web): unknown field "spec.modus"`,
		},
		"no time at all": {
			with("36000", "59"),
			"document 1: WorkloadAutoscaler: spec.schedules[0].durationSeconds: 59, must be from 60 to 31622400",
		},
		"too long a time": {
			with("36000", "31622401"),
			"document 1: WorkloadAutoscaler: spec.schedules[0].durationSeconds: 31622401, must be from 60 to 31622400",
		},
		"a duration that does not fit": {
			with("36000", "2147483648"), "document 1: item 1 (WorkloadAutoscaler shop/web): ",
		},
		"a fallback of none": {
			with("{replicas: 3}", "{replicas: 0}"),
			"document 1: WorkloadAutoscaler: spec.metrics[0].fallback.replicas: 0, must be from 1 to 2147483647",
		},
		"more waste than there are pods": {
			with("minReplicas: 0", "minReplicas: 0\n    forecast: {wasteLimitPercent: 101}"),
			"document 1: WorkloadAutoscaler: spec.forecast.wasteLimitPercent: 101, must be from 0 to 100",
		},
		"capacity that is worth nothing": {
			with("minReplicas: 0", "minReplicas: 0\n    forecast: {shortageCostFactor: 0}"),
			"document 1: WorkloadAutoscaler: spec.forecast.shortageCostFactor: 0, must be from 1 to 1000",
		},
		"max below min": {
			with("minReplicas: 0", "minReplicas: 7"),
			"document 1: WorkloadAutoscaler: spec.maxReplicas: 5, must be greater than or equal to `minReplicas` 7",
		},
		"of another": {
			with("kind: Snapshot\n  metadata: {name: web", "kind: Snapshot\n  metadata: {name: api"),
			"document 1: Snapshot: metadata: shop/api is not the WorkloadAutoscaler's name shop/web",
		},
	} {
		_, err := NewReader(strings.NewReader(c.document)).Next()
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", why, err, c.want)
		}
	}
}
