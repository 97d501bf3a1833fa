package docs

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/behavior"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/metric/source"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/mode"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/podselector"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/schedules"
	"github.com/plimsoll-dev/plimsoll/internal/decide/horizontal/statusreport"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/reason"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/recommend"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/status"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/update/report"
)

// A row is a condition or an event of the page. Kind is empty for an event.
type row struct{ kind, status, reason, message string }

// forwards are statements that pass on what another one of the page has made, by the source of the reason and the folder
// of the package.
var forwards = map[string]bool{
	"internal/decide/horizontal/statusreport reason":     true,
	"internal/controller/horizontal/status e.Reason":     true,
	"internal/controller/horizontal/status event.Reason": true,
	"internal/controller/horizontal/status reason":       true,
	"internal/controller/vertical/recommender e.Reason":  true,
}

// TestConditions: docs/reference/conditions.md has each condition that the code sets and each event that it makes. A
// statement whose reason is no constant needs its values below.
func TestConditions(t *testing.T) {
	t.Parallel()
	b := generated("Conditions and events", "What `kubectl describe` and statuses show: each type of condition with its "+
		"reasons, and each event.", "the code that sets them")
	b.WriteString("\n`…` stands for a part of a message that names what it is about. Programs go by types and reasons: " +
		"messages may change.\n")
	code := newCodeBase(t)
	b.WriteString("\n## HorizontalPodAutoscalers and WorkloadAutoscalers\n\n`Ready`, `Stalled`, `ScheduleActive` and " +
		"`FallbackActive` are of WorkloadAutoscalers alone. The last two, `AutoscalersConflict` and `ReplicasOverridden` " +
		"are absent until they are first True, `Stalled` is absent while it is not. Where a message names the HPA or the " +
		"HPA controller, that of a WorkloadAutoscaler names the WorkloadAutoscaler. The message of `Ready` that is True is " +
		"the decision in one sentence, as of the last write of the status.\n")
	write(t, b, rowsOf(t, code, horizontalValues(), "internal/decide/horizontal", "internal/controller/horizontal"))
	b.WriteString("\n## VerticalPodAutoscalers and their pods\n\n`UpdateBlocked` is True while pods " +
		"should be changed and none is. Conditions that are only True in the table are absent otherwise.\n")
	write(t, b, rowsOf(t, code, verticalValues(), "internal/decide/vertical", "internal/controller/vertical"))
	compare(t, "conditions.md", b.String())
}

// rowsOf resolves the statements below some folders.
func rowsOf(t *testing.T, code *codeBase, values map[string][]row, folders ...string) []row {
	t.Helper()
	var rows []row
	used := map[string]bool{}
	for _, folder := range folders {
		for _, s := range code.statements(t, folder) {
			known := s.file.folder + " " + code.source(s.reason)
			if forwards[known] && values[known] == nil {
				continue
			}
			one := row{status: statusOf(code.source(s.truth), s.kind != nil), message: "…"}
			if s.message != nil {
				one.message = code.gist(t, s.file, s.message)
			}
			var hasKind, hasReason bool
			if s.kind != nil {
				one.kind, hasKind = code.text(t, s.file, s.kind)
			}
			one.reason, hasReason = code.text(t, s.file, s.reason)
			switch {
			case values[known] != nil:
				used[known] = true
				for _, value := range values[known] {
					value.merge(one)
					rows = append(rows, value)
				}
			case hasReason && (hasKind || s.kind == nil):
				rows = append(rows, one)
			default:
				t.Errorf("%s: the values of %s are not known", s.at, known)
			}
		}
	}
	for known := range values {
		if !used[known] {
			t.Errorf("no statement has %s", known)
		}
	}
	return rows
}

// merge takes over what a value of the tables below leaves open.
func (r *row) merge(from row) {
	if r.kind == "" {
		r.kind = from.kind
	}
	if r.status == "" {
		r.status = from.status
	}
	if r.message == "" {
		r.message = from.message
	}
}

func statusOf(truth string, isCondition bool) string {
	switch truth {
	case "true", "condition.True":
		truth = "True"
	case "false", "condition.False":
		truth = "False"
	case "corev1.EventTypeWarning":
		return "Warning"
	case "corev1.EventTypeNormal":
		return "Normal"
	default:
		truth = "True"
	}
	if isCondition {
		return truth
	}
	return map[string]string{"True": "Warning", "False": "Normal"}[truth]
}

func write(t *testing.T, b *strings.Builder, rows []row) {
	t.Helper()
	slices.SortStableFunc(rows, func(a, b row) int {
		return strings.Compare(a.kind+" "+b2(a.status)+a.reason, b.kind+" "+b2(b.status)+b.reason)
	})
	rows = slices.Compact(rows)
	if len(rows) < 20 {
		t.Fatalf("%d conditions and events", len(rows))
	}
	b.WriteString("\n### Conditions\n\n| type | status | reason | message |\n|---|---|---|---|\n")
	for _, r := range rows {
		if r.kind != "" {
			fmt.Fprintf(b, "| %s | %s | %s | %s |\n", code(r.kind), r.status, code(r.reason), cell(r.message))
		}
	}
	b.WriteString("\n### Events\n\n| reason | type | message |\n|---|---|---|\n")
	for _, r := range rows {
		if r.kind == "" {
			fmt.Fprintf(b, "| %s | %s | %s |\n", code(r.reason), r.status, cell(r.message))
		}
	}
}

// b2 has conditions that are True before those that are False.
func b2(status string) string { return map[string]string{"True": "1", "False": "2"}[status] }

// horizontalValues are the reasons that are not constant where they are used, from the program's own values.
func horizontalValues() map[string][]row {
	const report = "internal/decide/horizontal/statusreport "
	var limits, corrections []row
	for l := behavior.DesiredWithinRange; l <= behavior.ScaleDownLimit; l++ {
		limit := row{reason: l.String(), message: l.Message(), status: "True"}
		if l == behavior.DesiredWithinRange {
			limit.status = "False"
		}
		limits = append(limits, limit)
		if l == behavior.TooFewReplicas || l == behavior.TooManyReplicas {
			corrections = append(corrections, limit)
		}
	}
	var failures []row
	for _, kind := range []source.Type{source.Resource, source.ContainerResource, source.Pods, source.Object,
		source.External, source.PodEndpoint, source.Prometheus, source.ExternalScaler, "of another kind"} {
		failures = append(failures, row{reason: (&source.Spec{Type: kind}).Fail("").Reason})
	}
	selectors, selectorEvents := selectorReasons()
	refusals := []row{
		{reason: statusreport.InvalidSpec}, {reason: statusreport.AnotherAutoscaler},
	}
	return map[string][]row{
		report + "d.Limited.Reason.String()":            limits,
		report + "reason.String()":                      corrections,
		report + "f.Reason":                             failures,
		report + "selector.reason":                      selectors,
		report + "selector.event":                       selectorEvents,
		report + "d.Refusal.Reason":                     refusals,
		report + "behavior.DesiredWithinRange.String()": limits[:1],
		report + "mode.Active.String()":                 {{reason: mode.Active.String()}},
		report + "mode.Preview.String()":                {{reason: mode.Preview.String()}},
		report + "mode.Paused.String()":                 {{reason: mode.Paused.String()}},
		report + "able.Reason":                          {{reason: "…", message: "what `AbleToScale` says"}},
		report + "active.Reason":                        {{reason: "…", message: "what `ScalingActive` says"}},
		report + "reason": {
			{kind: statusreport.ScheduleActive, status: "True", reason: schedules.ReasonInForce, message: "in force: …"},
			{kind: statusreport.ScheduleActive, status: "True", reason: schedules.ReasonMaxWins, message: "in force: …; the " +
				"minReplicas of … is above the maxReplicas of …, which is applied"},
			{kind: statusreport.ScheduleActive, status: "False", reason: schedules.ReasonNone, message: "no schedule is in force"},
		},
	}
}

// selectorReasons are those of selectors that cannot be used: of the condition, and of the event.
func selectorReasons() (conditions, events []row) {
	for _, spoil := range []func(*podselector.Selector){
		(*podselector.Selector).SetMissing,
		func(s *podselector.Selector) { s.SetInvalid("…") },
		func(s *podselector.Selector) { s.SetAmbiguous("…") },
	} {
		d := horizontal.Decision{Branch: horizontal.BranchFailed, Policy: &horizontal.Policy{}}
		spoil(&d.Target.Selector)
		r := statusreport.Of(&d, horizontal.Outcome{})
		for _, c := range r.Conditions {
			if c.Type == statusreport.ScalingActive {
				conditions = append(conditions, row{reason: c.Reason, message: c.Message})
			}
		}
		events = append(events, row{reason: r.Events[0].Reason, message: r.Events[0].Message})
	}
	return conditions, events
}

// verticalValues are the same of vertical autoscaling.
func verticalValues() map[string][]row {
	var findings []row
	for kind := range status.FindingKinds {
		findings = append(findings, row{kind: kind.String(), reason: kind.Reason()})
	}
	upstream := []string{recommend.RecommendationProvided, recommend.NoPodsMatched, recommend.ConfigDeprecated,
		recommend.LowConfidence}
	var warned []row
	for _, kind := range recommend.Owned {
		if !slices.Contains(upstream, kind) {
			warned = append(warned, row{reason: kind, message: "the condition's message"})
		}
	}
	blocked := []row{{kind: report.Type, status: "False", reason: report.Updating, message: "pods are being updated"}}
	for _, r := range reason.All() {
		// Those before are why a pod is changed. There is no condition in mode Off.
		if r < reason.NoRecommendation || r == reason.ModeOff {
			continue
		}
		status := "True"
		if r < reason.EvictionRequirements && r != reason.Conflict {
			status = "True, False"
		}
		blocked = append(blocked, row{kind: report.Type, status: status, reason: r.String(), message: report.Sentence(r)})
	}
	var features []row
	for _, name := range []string{report.InPlace, report.CPUStartupBoost, report.PerVPAConfig, report.PodsResize} {
		features = append(features, row{kind: report.FeatureType, reason: name})
	}
	const noPods = "No pods match this VPA object"
	return map[string][]row{
		"internal/decide/vertical/recommend reason": {
			{kind: recommend.NoPodsMatched, status: "True", reason: recommend.NoPodsMatched, message: noPods},
			{kind: recommend.RecommendationProvided, status: "False", reason: recommend.NoPodsMatched, message: noPods},
			{kind: recommend.RecommendationProvided, status: "False", message: " "},
		},
		"internal/decide/vertical/recommend f.Kind.Reason()":                findings,
		"internal/decide/vertical/recommend c.Type":                         warned,
		"internal/decide/vertical/update/report why":                        blocked,
		"internal/decide/vertical/update/report strings.Join(names, \",\")": features,
	}
}
