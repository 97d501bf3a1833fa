package scale

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The writer of the replica count is the newest manager that has the field, by the scale subresource or the object.
func TestWriterOf(t *testing.T) {
	entry := func(manager, fields string, seconds int64) metav1.ManagedFieldsEntry {
		at := metav1.Unix(seconds, 0)
		e := metav1.ManagedFieldsEntry{Manager: manager, Time: &at, FieldsV1: &metav1.FieldsV1{}}
		e.FieldsV1.SetRawString(fields)
		return e
	}
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	for name, tt := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    string
	}{
		"none": {},
		"others have other fields": {[]metav1.ManagedFieldsEntry{
			entry("helm", `{"f:spec":{"f:template":{}}}`, 9),
			entry("kube-controller-manager", `{"f:status":{"f:replicas":{}}}`, 9),
			{Manager: "bare"}, entry("broken", `{`, 9),
		}, ""},
		"the newest": {[]metav1.ManagedFieldsEntry{
			entry("plimsoll", replicas, 1), entry("argocd-controller", replicas, 3600), entry("helm", replicas, 2),
		}, "argocd-controller"},
	} {
		if got := WriterOf(tt.entries); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
