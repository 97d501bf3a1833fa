package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

func definitions(f *doctor.Facts) []doctor.Finding {
	if f.Definitions.Unread != nil {
		return unknown("the CustomResourceDefinitions", f.Definitions.Unread)
	}
	isInstalled := len(f.Controllers()) > 0
	var found []doctor.Finding
	there := 0
	for i := range f.Definitions.Value {
		d := &f.Definitions.Value[i]
		if d.Exists {
			there++
		}
		if !d.Exists && (!isInstalled || d.IsVertical && !f.IsVertical()) {
			continue
		}
		found = append(found, definition(f, d)...)
	}
	switch {
	case len(found) > 0:
		return bounded(found)
	case there == 0:
		return nothing
	}
	return ok("%s of %d are installed and serve the versions that this program reads", count(there, "definition"),
		len(f.Definitions.Value))
}

func definition(f *doctor.Facts, d *doctor.Definition) []doctor.Finding {
	found := doctor.Finding{
		Level: doctor.Problem, Object: "CustomResourceDefinition " + d.Name,
		Why:     "the controller cannot read these objects",
		Do:      "install the definitions of this version",
		Command: install(f),
	}
	missing := slices.DeleteFunc(slices.Clone(d.Wanted), func(v string) bool { return slices.Contains(d.Served, v) })
	old := slices.DeleteFunc(slices.Clone(d.Stored), func(v string) bool { return slices.Contains(d.Wanted, v) })
	switch {
	case !d.Exists && d.IsVertical:
		found.Level, found.What = doctor.Warning, "it is missing"
		found.Why = "vertical autoscaling does not begin without it"
		found.Do = "install the definitions, or start the controller with --components=horizontal"
		if f.IsSeparate() { // which has none of them
			found.Do, found.Command = "install the definitions", "kubectl apply --server-side -f config/crd"
		}
	case !d.Exists:
		found.What = "it is missing"
	case !d.IsEstablished:
		found.What = "it is there, and not served"
		found.Do, found.Command = "see its conditions", "kubectl describe customresourcedefinition "+d.Name
	case len(missing) > 0:
		found.What = fmt.Sprintf("it does not serve %s; this program reads no other", strings.Join(missing, ", "))
	case len(old) > 0 && !d.IsVertical:
		found.Level = doctor.Warning
		found.What = fmt.Sprintf("objects are stored as %s, which this program does not know", strings.Join(old, ", "))
		found.Why = "they cannot be read once that version is not served any more"
		found.Do, found.Command = "write each object once, then take the version out of status.storedVersions", ""
	case !d.HasOwnSchema && !d.IsVertical:
		found.Level = doctor.Warning
		found.What = "its schema is that of another version of Plimsoll"
		found.Why = "the API server drops unknown fields, and accepts values that the controller refuses"
	default:
		return nil
	}
	return []doctor.Finding{found}
}
