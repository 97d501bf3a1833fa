package steps

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/plimsoll-dev/plimsoll/internal/crdschema"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
)

// CheckResult adds the fields that the API server would refuse to the findings, and reports whether it would accept the
// WorkloadAutoscaler.
func CheckResult(ctx context.Context, r *convert.Result) (isAccepted bool, err error) {
	raw, err := convert.Printable(r.WorkloadAutoscaler)
	if err != nil {
		return false, err
	}
	refused, err := crdschema.Validate(ctx, raw)
	if err != nil {
		return false, err
	}
	meta := r.WorkloadAutoscaler.ObjectMeta.DeepCopy()
	if meta.Namespace == "" {
		// The user who applies it will set the namespace.
		meta.Namespace = metav1.NamespaceDefault
	}
	refused = append(refused, validation.ValidateObjectMeta(meta, true, validation.NameIsDNSSubdomain,
		field.NewPath("metadata"))...)
	// The schema's errors come in no order.
	slices.SortStableFunc(refused, func(a, b *field.Error) int { return strings.Compare(a.Field, b.Field) })
	isTriggerLost := slices.ContainsFunc(r.Findings, func(f convert.Finding) bool {
		return f.IsLost && strings.HasPrefix(f.Field, "spec.triggers[")
	})
	for _, e := range refused {
		if isTriggerLost && e.Field == "spec.metrics" && e.Type == field.ErrorTypeRequired {
			continue // missing because the triggers are lost, which is a finding of its own
		}
		r.Lose(e.Field, "the API server refuses the WorkloadAutoscaler: %s", e.ErrorBody())
	}
	return len(refused) == 0, nil
}
