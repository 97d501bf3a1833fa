package input

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

// TestTwoAuthentications: of two that differ, with one name and no namespace, the credentials of the wrong environment
// could be taken.
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
			_, err := Read([]string{"-"}, strings.NewReader(text), labels.Everything())
			if (err != nil) != (tt.want != "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}
