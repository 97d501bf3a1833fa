package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

func keda(f *doctor.Facts) []doctor.Finding {
	if f.ScaledObjects.Unread != nil {
		return unknown("whether KEDA is there", f.ScaledObjects.Unread)
	}
	operator := slices.IndexFunc(f.Others.Value, func(d doctor.Deployment) bool {
		return d.Component == doctor.KEDAOperator && d.Wanted > 0
	})
	if !f.ScaledObjects.Value.IsServed && operator < 0 {
		return nothing
	}
	found := doctor.Finding{
		Level: doctor.Warning,
		What:  fmt.Sprintf("KEDA is installed, with %s", count(len(f.ScaledObjects.Value.All), "ScaledObject")),
		Why: "KEDA makes an HPA of each ScaledObject and scales to and from zero itself; Plimsoll treats that HPA as any " +
			"other, and a WorkloadAutoscaler of the same target waits",
		Do: "leave these workloads to KEDA, or migrate them (docs/from-keda.md); make no WorkloadAutoscaler for them",
	}
	if operator >= 0 {
		found.Object = f.Others.Value[operator].String()
	}
	if all := f.ScaledObjects.Value.All; len(all) > 0 {
		found.Command = fmt.Sprintf("plimsoll migrate scaledobject/%s -n %s", all[0].Name, all[0].Namespace)
	}
	return []doctor.Finding{found}
}

func upstreamVPA(f *doctor.Facts) []doctor.Finding {
	if f.Others.Unread != nil {
		return unknown("whether upstream's vertical autoscaler is there", f.Others.Unread)
	}
	var found []doctor.Finding
	var running []string
	idle := 0
	for i := range f.Others.Value {
		d := &f.Others.Value[i]
		if d.Component == doctor.KEDAOperator {
			continue
		}
		if d.Wanted == 0 {
			idle++
			continue
		}
		if running = append(running, d.String()); !f.IsVertical() {
			continue
		}
		found = append(found, doctor.Finding{
			Level: doctor.Problem, Object: d.String(), What: "upstream's vertical autoscaler runs beside Plimsoll's",
			Why:     "both write recommendations and change pods",
			Do:      "scale it to 0, or start Plimsoll's controller with --components=horizontal",
			Command: fmt.Sprintf("kubectl scale deployment %s -n %s --replicas=0", d.Name, d.Namespace),
		})
	}
	switch {
	case len(found) > 0:
		return found
	case len(running) > 0:
		return ok("upstream's vertical autoscaler runs (%s), and VerticalPodAutoscalers are left to it",
			strings.Join(running, ", "))
	case idle > 0:
		return ok("upstream's vertical autoscaler is there, and scaled to 0")
	}
	return nothing
}
