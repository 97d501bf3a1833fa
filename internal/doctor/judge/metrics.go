package judge

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// The API groups of metrics.
const (
	resourceMetrics = "metrics.k8s.io"
	customMetrics   = "custom.metrics.k8s.io"
	externalMetrics = "external.metrics.k8s.io"
)

// How old the newest sample may be. metrics-server reads kubelets every 15 s to 60 s, and a kubelet's samples are up to
// 15 s old.
const (
	apiSampleWarning = 90 * time.Second
	apiSampleProblem = 3 * time.Minute
)

// How old the newest sample of a kubelet may be: it measures containers every 10 to 15 s.
const (
	kubeletSampleWarning = 30 * time.Second
	kubeletSampleProblem = 60 * time.Second
)

func servicesOf(f *doctor.Facts, group string) []doctor.APIService {
	return slices.DeleteFunc(slices.Clone(f.APIServices.Value), func(s doctor.APIService) bool { return s.Group != group })
}

func metricsAPI(f *doctor.Facts) []doctor.Finding {
	if f.APIServices.Unread != nil {
		return unknown("who serves metrics.k8s.io", f.APIServices.Unread)
	}
	services := servicesOf(f, resourceMetrics)
	if len(services) == 0 {
		return []doctor.Finding{{
			Level: doctor.Problem, Object: "APIService v1beta1.metrics.k8s.io",
			What: "it is missing: metrics-server is not installed",
			Why: "kube-controller-manager has no CPU and memory of pods without it; Plimsoll reads the kubelets, and has " +
				"nothing in their place where it cannot",
			Do: "install metrics-server",
			Command: "kubectl apply -f " +
				"https://github.com/kubernetes-sigs/metrics-server/releases/latest/download/components.yaml",
		}}
	}
	isAny := slices.ContainsFunc(services, func(s doctor.APIService) bool { return s.IsAvailable })
	level, why := doctor.Problem, "it does not serve CPU and memory of pods"
	if isAny {
		level, why = doctor.Warning, "discovery fails for kubectl and for controllers; Plimsoll uses the other version"
	}
	var found []doctor.Finding
	for i := range services {
		if s := &services[i]; !s.IsAvailable {
			found = append(found, unavailable(s, level, why))
		}
	}
	if !isAny {
		return found
	}
	return append(found, samples(f)...)
}

func unavailable(s *doctor.APIService, level doctor.Level, why string) doctor.Finding {
	found := doctor.Finding{
		Level: level, Object: "APIService " + s.Name, What: "it is not available", Why: why,
		Do:      "check that the pods behind its Service run, and that the API server reaches them",
		Command: "kubectl describe apiservice " + s.Name,
	}
	if s.Reason != "" {
		found.What += ": " + s.Reason
	}
	if s.Message != "" {
		found.What += " (" + s.Message + ")"
	}
	if s.Service != "" {
		found.Do = fmt.Sprintf("check that the pods behind the Service %s run, and that the API server reaches them",
			s.Service)
	}
	return found
}

func samples(f *doctor.Facts) []doctor.Finding {
	if f.Samples.Unread != nil {
		return unknown("the samples of metrics.k8s.io", f.Samples.Unread)
	}
	s := &f.Samples.Value
	if s.Pods == 0 && s.Nodes > 0 {
		return ok("metrics.k8s.io has samples of %s, and of no pod yet", count(s.Nodes, "node"))
	}
	if s.Pods == 0 {
		return []doctor.Finding{{
			Level: doctor.Warning, Object: "APIService " + s.Version + "." + resourceMetrics,
			What: "it has no sample of any pod",
			Why:  "metrics-server has just started, or cannot read a kubelet", Do: "read its log",
			Command: "kubectl logs -n kube-system deployment/metrics-server",
		}}
	}
	serverTime := s.ReadAt.Add(f.Server.Value.Ahead)
	newest, oldest := serverTime.Sub(s.Newest), serverTime.Sub(s.Oldest)
	found := doctor.Finding{
		Level: doctor.Warning, Object: "APIService " + s.Version + "." + resourceMetrics,
		Do:      "see in the log of metrics-server which kubelets it cannot read, and in its flags --metric-resolution",
		Command: "kubectl logs -n kube-system deployment/metrics-server",
	}
	switch {
	case newest > apiSampleWarning:
		found.What = fmt.Sprintf("its newest sample is %s old", short(newest))
		found.Why = "decisions follow the load that late"
		if newest > apiSampleProblem {
			found.Level = doctor.Problem
		}
	case oldest > apiSampleProblem:
		found.What = fmt.Sprintf("its sample of pod %s is %s old", s.OldestPod, short(oldest))
		found.Why = "decisions about pods of that node follow the load that late"
	default:
		return ok("metrics.k8s.io has samples of %s, at most %s old, each averaged over %s", count(s.Pods, "pod"),
			short(oldest), short(s.Window))
	}
	return []doctor.Finding{found}
}

func adapters(f *doctor.Facts) []doctor.Finding {
	if f.APIServices.Unread != nil {
		return unknown("who serves custom and external metrics", f.APIServices.Unread)
	}
	var found []doctor.Finding
	for _, group := range []string{customMetrics, externalMetrics} {
		found = append(found, adapter(f, group)...)
	}
	if len(found) > 0 {
		return found
	}
	var there []string
	for _, s := range f.APIServices.Value {
		if s.Group == customMetrics || s.Group == externalMetrics {
			there = append(there, s.Name)
		}
	}
	if len(there) == 0 {
		return nothing
	}
	return ok("%s available", isOrAre(there))
}

func isOrAre(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return listed(names) + " are"
}

// adapter examines the API of custom or of external metrics.
func adapter(f *doctor.Facts, group string) []doctor.Finding {
	users := usersOf(f, group)
	services := servicesOf(f, group)
	if len(services) == 0 && len(users) > 0 {
		return []doctor.Finding{{
			Level: doctor.Problem, Object: "APIService v1beta1." + group,
			What: fmt.Sprintf("it is missing, and %s needs it: %s", count(len(users), "autoscaler"), listed(users)),
			Why:  "these metrics cannot be read", Do: "install the adapter that serves them, such as prometheus-adapter or KEDA",
		}}
	}
	var found []doctor.Finding
	for i := range services {
		if services[i].IsAvailable {
			continue
		}
		level, why := doctor.Warning, "discovery fails for kubectl and for controllers, although no autoscaler needs it"
		if len(users) > 0 {
			level = doctor.Problem
			why = fmt.Sprintf("%s needs it: %s", count(len(users), "autoscaler"), listed(users))
		}
		found = append(found, unavailable(&services[i], level, why))
	}
	return found
}

// usersOf are the autoscalers with metrics of the group.
func usersOf(f *doctor.Facts, group string) []string {
	var users []string
	for _, all := range [][]doctor.Autoscaler{f.HPAs.Value, f.WLAs.Value} {
		for i := range all {
			a := &all[i]
			if group == customMetrics && a.UsesCustom || group == externalMetrics && a.UsesExternal {
				users = append(users, a.String())
			}
		}
	}
	return users
}
