package rules

import (
	"strings"
	"testing"

	"github.com/plimsoll-dev/plimsoll/internal/advise/objects"
	"github.com/plimsoll-dev/plimsoll/internal/advise/read/manifests"
)

// TestTriggerTypes: a type that KEDA does not have is refused where it resembles one of KEDA's. Of all others that are
// not examined the report says so.
func TestTriggerTypes(t *testing.T) {
	for kind, tt := range map[string]struct{ refused, unexamined string }{
		"kafka":     {},
		"cpu":       {},
		"cron":      {},
		"kafkaa":    {refused: "KEDA 2.21.0 has no trigger of this type, but kafka."},
		"Kafka":     {refused: "but kafka."},
		"prometeus": {refused: "but prometheus."},
		"splunk":    {unexamined: "what KEDA requires of triggers of this type is not known"},
		"external":  {unexamined: "what KEDA requires of triggers of this type is not known"},
		"stan":      {unexamined: "KEDA 2.21.0 has no triggers of this type"},
		"fortune":   {unexamined: "KEDA 2.21.0 has no triggers of this type"},
	} {
		t.Run(kind, func(t *testing.T) {
			c := &objects.Collection{}
			manifests.Add(c, "web.yaml", strings.NewReader("{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: "+
				"{name: web}, spec: {scaleTargetRef: {name: web}, minReplicaCount: 2, triggers: [{type: "+kind+
				", metricType: AverageValue, metadata: {value: \"3\", timezone: UTC, start: 0 8 * * *, end: 0 18 * * *, "+
				"desiredReplicas: \"3\"}}]}}\n"))
			report := Run(c, All())
			var refused, unexamined string
			for _, f := range report.Findings {
				if f.Rule.Name == "refused-by-api-server" {
					refused += f.Field.String() + " " + f.Why
				}
			}
			for _, u := range report.Unexamined {
				if u.Target == "trigger "+kind {
					unexamined += u.Why
				}
			}
			if !strings.Contains(refused, tt.refused) || tt.refused == "" && refused != "" {
				t.Errorf("refused %q, want %q", refused, tt.refused)
			}
			if unexamined != tt.unexamined {
				t.Errorf("unexamined %q, want %q", unexamined, tt.unexamined)
			}
		})
	}
}

// TestScaledObjectWithoutHPA: on a cluster, where KEDA's HPA stands for the ScaledObject, one without is named.
func TestScaledObjectWithoutHPA(t *testing.T) {
	const hpa = "---\n{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: keda-hpa-web, " +
		"ownerReferences: [{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, name: web, uid: u, controller: true}]}, " +
		"spec: {maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}\n"
	for text, want := range map[string]int{"": 1, hpa: 0} {
		c := &objects.Collection{IsCluster: true}
		manifests.Add(c, "", strings.NewReader("{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {name: web}, "+
			"spec: {scaleTargetRef: {name: web}, triggers: [{type: kafkaa, metadata: {}}]}}\n"+text))
		got := 0
		for _, u := range Run(c, All()).Unexamined {
			if u.Object.Kind == objects.ScaledObject && u.Why == "KEDA has made no HPA of it" {
				got++
			}
		}
		if got != want {
			t.Errorf("%d without an HPA, want %d, beside %q", got, want, text)
		}
	}
}
