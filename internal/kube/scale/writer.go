package scale

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WriterOf returns the field manager that set spec.replicas last, from an object's managedFields; empty if none has it.
// It is informational: every client that may update the object can forge it.
func WriterOf(entries []metav1.ManagedFieldsEntry) (by string) {
	var last time.Time
	for i := range entries {
		e := &entries[i]
		if !hasReplicas(e.FieldsV1) {
			continue
		}
		var at time.Time
		if e.Time != nil {
			at = e.Time.Time
		}
		if by == "" || at.After(last) {
			by, last = e.Manager, at
		}
	}
	return by
}

func hasReplicas(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var set struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	if err := json.Unmarshal(fields.GetRawBytes(), &set); err != nil {
		return false
	}
	_, has := set.Spec["f:replicas"]
	return has
}
