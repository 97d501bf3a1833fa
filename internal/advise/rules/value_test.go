package rules

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"
)

// TestInMebibytes: what is proposed is a quantity, and memory that a pod may have.
func TestInMebibytes(t *testing.T) {
	for text, want := range map[string]string{
		"500": "500Mi", "500m": "500Mi", "900Ki": "900Mi", "1k": "1Mi", // a thousand times too little, or a million
		"524288": "", "128974848m": "", "100u": "", "5n": "",
	} {
		value := resource.MustParse(text)
		if got := inMebibytes(&value); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
