package session

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestTwoAuthentications: of two that differ, with the same name and no namespace, the migration could use the
// credentials of the wrong environment.
func TestTwoAuthentications(t *testing.T) {
	authentication := func(namespace, secret string) string {
		return "apiVersion: keda.sh/v1alpha1\nkind: TriggerAuthentication\nmetadata: {name: queue, namespace: " + namespace +
			"}\nspec: {secretTargetRef: [{parameter: bearerToken, name: " + secret + ", key: token}]}\n"
	}
	for name, tt := range map[string]struct {
		second string
		want   string
	}{
		"the same":             {authentication("''", "one"), ""},
		"of another namespace": {authentication("play", "two"), ""},
		"another without one":  {authentication("''", "two"), "the TriggerAuthentication queue is in the files twice"},
	} {
		t.Run(name, func(t *testing.T) {
			text := authentication("''", "one") + "---\n" + tt.second
			_, err := ReadManifests([]string{"-"}, strings.NewReader(text), labels.Everything())
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// An autoscaler that cannot be migrated is reported with its place.
func TestNamesOtherAutoscalers(t *testing.T) {
	for object, want := range map[string]string{
		"apiVersion: extensions/v1beta1, kind: HorizontalPodAutoscaler": "HorizontalPodAutoscaler web of extensions/v1beta1",
		"apiVersion: keda.k8s.io/v1alpha1, kind: ScaledObject":          "ScaledObject web of keda.k8s.io/v1alpha1",
		"apiVersion: keda.sh/v1alpha1, kind: ScaledJob":                 "ScaledJob web of keda.sh/v1alpha1",
		"apiVersion: v1, kind: ConfigMap":                               "",
	} {
		_, err := ReadManifests([]string{"-"}, strings.NewReader("{"+object+", metadata: {name: web}}"), labels.Everything())
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), "standard input:1: "+want) {
			t.Errorf("%s: %v", object, err)
		}
	}
}
