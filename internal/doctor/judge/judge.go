// Package judge makes findings of facts. Each check is a function of the facts alone: it reads no API and no clock.
package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/internal/output"
)

// Check is one of them.
type Check struct {
	Name string
	// About says what it examines.
	About string
	run   func(*doctor.Facts) []doctor.Finding
}

// All are the checks, in the order in which their findings are shown.
func All() []Check {
	return []Check{
		{"kubernetes-version", "whether Plimsoll works with this version of Kubernetes", kubernetesVersion},
		{"clock", "whether the clocks of this machine, the API server and the nodes agree", clock},
		{"hpa-loop", "who acts on HorizontalPodAutoscalers", loop},
		{"installation", "whether Plimsoll runs, once, and in the version of this program", installation},
		{"rights", "whether Plimsoll's accounts have the permissions of config/", rights},
		{"definitions", "whether the CustomResourceDefinitions are there, and those of this program", definitions},
		{"metrics-api", "whether metrics.k8s.io answers, and how old its samples are", metricsAPI},
		{"metric-adapters", "whether custom and external metrics answer where autoscalers need them", adapters},
		{"nodes", "whether the nodes are ready", nodes},
		{"kubelet-samples", "how old the kubelets' own samples are, on up to ten nodes", kubelets},
		{"webhooks", "whether webhooks for pods and autoscalers can respond", webhooks},
		{"targets", "whether several autoscalers scale the same workload", targets},
		{"keda", "whether KEDA is there as well", keda},
		{"upstream-vpa", "whether upstream's vertical autoscaler is there as well", upstreamVPA},
	}
}

// Judge makes the findings of all checks.
func Judge(f *doctor.Facts) doctor.Report {
	var report doctor.Report
	for _, check := range All() {
		for _, finding := range check.run(f) {
			finding.Check = check.Name
			finding.Command = output.CommandToCluster(finding.Command, f.Program.ClusterFlags)
			report.Findings = append(report.Findings, finding)
		}
	}
	return report
}

// nothing is the result of a check that has nothing to examine.
var nothing []doctor.Finding

func ok(format string, args ...any) []doctor.Finding {
	return []doctor.Finding{{Level: doctor.OK, What: fmt.Sprintf(format, args...)}}
}

// unread is the finding about something that is not known.
func unread(what string, why *doctor.Unread) doctor.Finding {
	found := doctor.Finding{Level: doctor.Unknown, What: what + ": " + why.Why}
	if why.Right != "" {
		found.What = fmt.Sprintf("%s: you may not %s", what, why.Right)
		found.Do, found.Command = "examine the cluster as a user who has that right", why.Command
	}
	return found
}

func unknown(what string, why *doctor.Unread) []doctor.Finding {
	return []doctor.Finding{unread(what, why)}
}

// most is the largest number of objects that a check names, each in its own finding.
const most = 10

// bounded leaves out findings beyond the first, and says how many.
func bounded(found []doctor.Finding) []doctor.Finding {
	if len(found) <= most {
		return found
	}
	// The worst first: they are not those to leave out.
	slices.SortStableFunc(found, func(a, b doctor.Finding) int { return int(b.Level) - int(a.Level) })
	left := len(found) - most
	level := found[most].Level
	return append(found[:most:most], doctor.Finding{Level: level, What: fmt.Sprintf("and %d more like these", left)})
}

// short is a duration in whole seconds.
func short(d time.Duration) string { return d.Round(time.Second).String() }

// count is as "1 pod" or "2 pods".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// listed are the first of the names, and how many more there are.
func listed(names []string) string {
	const shown = 3
	if len(names) <= shown {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}
