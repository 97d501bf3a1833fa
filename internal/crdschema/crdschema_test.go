package crdschema

import (
	"maps"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestValidate: schemas, their rules, and their defaults count.
func TestValidate(t *testing.T) {
	const (
		vpa = "apiVersion: autoscaling.k8s.io/v1\nkind: VerticalPodAutoscaler\nmetadata: {name: web}\nspec: " +
			"{targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
		wla = "apiVersion: plimsoll.dev/v1alpha1\nkind: WorkloadAutoscaler\nmetadata: {name: web}\nspec: " +
			"{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, "
		cpu = "metrics: [{name: cpu, type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}], "
	)
	day := func(start, end string) string {
		return wla + cpu + "maxReplicas: 5, schedules: [{name: day, minReplicas: 2, start: \"" + start + "\", end: \"" + end + "\"}]}"
	}
	const midnight, which = "0 0 * * *", "spec.schedules[0]."
	for text, want := range map[string]string{
		day("0 0 30 2 *", midnight):                                             which + "start",
		day(midnight, "0 0 30-31,31 FEB ?"):                                     which + "end",
		day("0 0 31 4,06,sep,11 *", midnight):                                   which + "start",
		day("0 0 29 2 *", midnight):                                             "",
		day("0 0 30 2,3 *", midnight):                                           "",
		day("0 0 1,31 4 *", midnight):                                           "",
		day("0 0 31 4-6 *", midnight):                                           "",
		day("0 0 31 2/5 *", midnight):                                           "",
		day("0 0 31 4 mon", midnight):                                           "",
		vpa + "updatePolicy: {updateMode: Recreate}}":                           "",
		vpa + "updatePolicy: {updateMode: recreate}}":                           "spec.updatePolicy.updateMode",
		vpa + "updatePolicy: {minReplicas: many}}":                              "spec.updatePolicy.minReplicas",
		vpa + "startupBoost: {cpu: {type: Factor, quantity: 500m}}}":            "spec.startupBoost.cpu",
		wla + cpu + "maxReplicas: 5}":                                           "",
		wla + cpu + "minReplicas: 6, maxReplicas: 5}":                           "spec.maxReplicas",
		wla + cpu + "maxReplicas: 0}":                                           "spec.maxReplicas",
		wla + cpu + "maxReplicas: 5, mode: Sometimes}":                          "spec.mode",
		wla + "maxReplicas: 5}":                                                 "spec.metrics",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: 5": "",
	} {
		object := decode(t, []byte(text))
		before := maps.Clone(object)
		errs, err := Validate(t.Context(), object)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" && len(errs) > 0 || want != "" && (len(errs) == 0 || errs[0].Field != want) {
			t.Errorf("%s:\n%v, want an error of %q", text, errs, want)
		}
		if len(object) != len(before) {
			t.Errorf("%s: the object was changed to %v", text, object)
		}
	}
}

// decode reads an object as the API server does: its whole numbers are int64.
func decode(t *testing.T, text []byte) map[string]any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var object map[string]any
	if err := utiljson.Unmarshal(asJSON, &object); err != nil {
		t.Fatal(err)
	}
	return object
}
