package judge

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

func hpa(name string, writes ...doctor.Write) doctor.Autoscaler {
	return doctor.Autoscaler{
		Object:    doctor.Object{Kind: hpaKind, Namespace: "shop", Name: name},
		Target:    doctor.Target{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: name},
		Resources: []string{"cpu"}, UsesResources: true, HasStatus: true, Created: ago(time.Hour), Writes: writes,
	}
}

// good is a cluster with Plimsoll in which nothing is wrong.
func good() *doctor.Facts {
	f := &doctor.Facts{Now: now, Program: doctor.Program{
		Version: "v1.2.0", Namespace: "plimsoll-system", Lease: "plimsoll-controller"}}
	f.Server.Value = doctor.Server{Version: "v1.37.1", HasClock: true, Uncertainty: 510 * time.Millisecond}
	f.HPAs.Value = []doctor.Autoscaler{hpa("web", doctor.Write{By: "plimsoll", At: ago(time.Minute)})}
	f.Deployments.Value = []doctor.Deployment{{
		Object:    doctor.Object{Kind: "Deployment", Namespace: "plimsoll-system", Name: "plimsoll-controller"},
		Component: doctor.Controller, Wanted: 2, Ready: 2, Account: "plimsoll-controller",
		Image: "ghcr.io/plimsoll-dev/plimsoll:v1.2.3",
	}}
	f.Leases.Value = []doctor.Lease{{
		Object: doctor.Object{Kind: "Lease", Namespace: "plimsoll-system", Name: "plimsoll-controller"}, Holder: "a",
		Renewed: ago(2 * time.Second), Duration: 15 * time.Second, ReadAt: now,
	}}
	f.APIServices.Value = []doctor.APIService{{Name: "v1beta1.metrics.k8s.io", Group: "metrics.k8s.io", IsAvailable: true}}
	f.Samples.Value = doctor.Samples{IsServed: true, Version: "v1beta1", ReadAt: now, Pods: 9,
		Newest: ago(15 * time.Second), Oldest: ago(40 * time.Second), OldestPod: "shop/web-1", Window: 15 * time.Second}
	f.Nodes.Value = []doctor.Node{{Name: "a", IsReady: true}}
	f.Kubelets = []doctor.Kubelet{{Node: "a", ReadAt: now, Date: now, Newest: ago(8 * time.Second)}}
	f.Definitions.Value = []doctor.Definition{{
		Name: "workloadautoscalers.plimsoll.dev", Exists: true, IsEstablished: true, HasOwnSchema: true,
		Wanted: []string{"v1alpha1"}, Served: []string{"v1alpha1"}, Stored: []string{"v1alpha1"},
	}}
	f.Rights.Value.Checked = 90
	f.Webhooks.Value = []doctor.Webhook{{
		Configuration: doctor.Object{Kind: "MutatingWebhookConfiguration", Name: "inject"}, Name: "inject.example",
		Fails: true, IsAskedAboutPods: true, Service: "mesh/inject", HasService: true, ReadyEndpoints: 1,
		Authority: doctor.Authority{Expires: now.Add(time.Hour)},
	}}
	return f
}

// empty are the checks of TestGood that have nothing to examine there.
var empty = map[string]string{"before an installation": "definitions", "no HPAs": "hpa-loop targets"}

// TestGood: nothing is wrong on a good cluster, and each check says something, but for those with nothing to examine.
func TestGood(t *testing.T) {
	for name, change := range map[string]func(*doctor.Facts){
		"as it is": func(*doctor.Facts) {},
		"before an installation": func(f *doctor.Facts) {
			f.Deployments.Value, f.Leases.Value, f.Definitions.Value[0] = nil, nil, doctor.Definition{Name: "x"}
			f.Rights.Value.Checked = 0
			f.HPAs.Value[0].Writes = []doctor.Write{{By: "kube-controller-manager", At: ago(time.Minute)}}
		},
		"HPAs left to kube-controller-manager": func(f *doctor.Facts) {
			f.HPAs.Value[0].Writes = []doctor.Write{{By: "kube-controller-manager", At: ago(time.Hour)}}
		},
		"an HPA that has just been made": func(f *doctor.Facts) {
			f.HPAs.Value[0].HasStatus, f.HPAs.Value[0].Created = false, ago(time.Minute)
		},
		"HPAs taken over an hour ago": func(f *doctor.Facts) {
			f.HPAs.Value[0].Writes = append(f.HPAs.Value[0].Writes,
				doctor.Write{By: "kube-controller-manager", At: ago(time.Hour)})
		},
		"clocks that differ by less than can be measured": func(f *doctor.Facts) {
			f.Server.Value.Ahead, f.Server.Value.Uncertainty = 11*time.Second, 2*time.Second
			f.Leases.Value[0].Renewed, f.Kubelets[0].Date = now.Add(9*time.Second), now.Add(11*time.Second)
			f.Kubelets[0].Newest = now
		},
		"a preview beside an HPA": func(f *doctor.Facts) {
			w := hpa("web")
			w.Kind, w.Mode = wlaKind, "Preview"
			f.WLAs.Value = []doctor.Autoscaler{w}
		},
		"a VPA that only recommends": func(f *doctor.Facts) {
			v := hpa("web")
			v.Kind, v.Mode = "VerticalPodAutoscaler", "Off"
			f.VPAs.Value = []doctor.Autoscaler{v}
		},
		"no pod runs yet": func(f *doctor.Facts) {
			f.Samples.Value = doctor.Samples{IsServed: true, ReadAt: now, Nodes: 3}
		},
		"no HPAs": func(f *doctor.Facts) { f.HPAs.Value = nil },
		"a Lease of another name": func(f *doctor.Facts) {
			f.Deployments.Value[0].Args = []string{
				"--leader-elect-resource-name=mine", "--leader-elect-resource-namespace=$(POD_NAMESPACE)",
			}
			f.Leases.Value[0].Name = "mine"
		},
		"kube-controller-manager may not be read": func(f *doctor.Facts) {
			f.ControllerManager.Unread = &doctor.Unread{Right: "list pods in namespace kube-system"}
		},
		"a development image": func(f *doctor.Facts) { f.Deployments.Value[0].Image = "plimsoll:dev" },
	} {
		f := good()
		change(f)
		report := Judge(f)
		for _, found := range report.Findings {
			if found.Level != doctor.OK {
				t.Errorf("%s: %+v", name, found)
			}
		}
		for _, check := range All() {
			isThere := slices.ContainsFunc(report.Findings, func(d doctor.Finding) bool { return d.Check == check.Name })
			isEmpty := slices.Contains(strings.Fields(empty[name]+" metric-adapters keda upstream-vpa"), check.Name)
			if isThere == isEmpty {
				t.Errorf("%s: that %s says something is %t", name, check.Name, isThere)
			}
		}
	}
}

// TestBroken: what is broken is named by its check, with what to do, and by no other check.
func TestBroken(t *testing.T) {
	for name, tt := range map[string]struct {
		check  string
		level  doctor.Level
		object string
		says   string
		change func(*doctor.Facts)
	}{
		"old Kubernetes": {"kubernetes-version", doctor.Problem, "", "v1.29.4-gke.1 is too old", func(f *doctor.Facts) {
			f.Server.Value.Version = "v1.29.4-gke.1"
		}},
		"new Kubernetes": {"kubernetes-version", doctor.Warning, "", "newer", func(f *doctor.Facts) {
			f.Server.Value.Version = "v1." + strconv.Itoa(NewestMinor+1) + ".0"
		}},
		"no version": {"kubernetes-version", doctor.Unknown, "", "no version", func(f *doctor.Facts) {
			f.Server.Value.Version = "x"
		}},
		"this machine's clock": {"clock", doctor.Problem, "", "this machine's is wrong", func(f *doctor.Facts) {
			f.Server.Value.Ahead = time.Minute
			f.Leases.Value[0].Renewed, f.Kubelets[0].Date = now.Add(time.Minute), now.Add(time.Minute)
			f.Kubelets[0].Newest, f.Samples.Value.Newest = now.Add(52*time.Second), now.Add(time.Minute)
			f.Samples.Value.Oldest = now.Add(time.Minute)
		}},
		"a node's clock": {"clock", doctor.Problem, "Node a", "1m0s behind the API server's", func(f *doctor.Facts) {
			f.Kubelets[0].Date, f.Kubelets[0].Newest = ago(time.Minute), ago(70*time.Second)
		}},
		"a leader's clock": {"clock", doctor.Problem, "Lease plimsoll-system/plimsoll-controller", "in the future",
			func(f *doctor.Facts) { f.Leases.Value[0].Renewed = now.Add(time.Minute) }},
		"both loops": {"hpa-loop", doctor.Problem, "", "both act on HPAs", func(f *doctor.Facts) {
			f.HPAs.Value = append(f.HPAs.Value, hpa("api", doctor.Write{By: "plimsoll", At: ago(10 * time.Second)}))
			f.HPAs.Value[0].Writes = append(f.HPAs.Value[0].Writes,
				doctor.Write{By: "kube-controller-manager", At: ago(20 * time.Second)})
		}},
		"both loops of one HPA": {"hpa-loop", doctor.Problem, "", "both act on HPAs", func(f *doctor.Facts) {
			f.HPAs.Value[0].Writes = append(f.HPAs.Value[0].Writes,
				doctor.Write{By: "kube-controller-manager", At: ago(20 * time.Second)})
			f.Deployments.Value[0].Args = []string{"--horizontal-pod-autoscalers=act"}
		}},
		"both loops where kube-controller-manager is not shown": {"hpa-loop", doctor.Problem, "",
			"kube-controller-manager writes the statuses of HPAs, and Plimsoll runs with", func(f *doctor.Facts) {
				f.HPAs.Value[0].Writes = []doctor.Write{{By: "kube-controller-manager", At: ago(time.Minute)}}
				f.Deployments.Value[0].Args = []string{"--horizontal-pod-autoscalers=act"}
			}},
		"both loops, and no Deployment": {"hpa-loop", doctor.Problem, "", "both act on HPAs", func(f *doctor.Facts) {
			f.HPAs.Value[0].Writes = append(f.HPAs.Value[0].Writes,
				doctor.Write{By: "kube-controller-manager", At: ago(20 * time.Second)})
			f.Deployments.Value, f.Leases.Value = nil, nil
		}},
		"given back": {"hpa-loop", doctor.Warning, "", "kube-controller-manager has taken HPAs over from plimsoll",
			func(f *doctor.Facts) {
				f.HPAs.Value[0].Writes = append(f.HPAs.Value[0].Writes,
					doctor.Write{By: "kube-controller-manager", At: ago(20 * time.Second)})
			}},
		"a handover": {"hpa-loop", doctor.Warning, "", "has taken HPAs over", func(f *doctor.Facts) {
			f.HPAs.Value[0].Writes = append(f.HPAs.Value[0].Writes,
				doctor.Write{By: "kube-controller-manager", At: ago(4 * time.Minute)})
		}},
		"both loops by their flags": {"hpa-loop", doctor.Problem, "", "--horizontal-pod-autoscalers=act",
			func(f *doctor.Facts) {
				f.ControllerManager.Value = doctor.ControllerManager{Pods: 1, IsHPALoopOn: true}
				f.Deployments.Value[0].Args = []string{"--horizontal-pod-autoscalers=act"}
			}},
		"nobody acts": {"hpa-loop", doctor.Problem, "", "no controller acts on 1 HPA: shop/web", func(f *doctor.Facts) {
			f.HPAs.Value[0].Writes, f.HPAs.Value[0].HasStatus = nil, false
		}},
		"not ready": {"installation", doctor.Warning, "Deployment plimsoll-system/plimsoll-controller", "1 of 2",
			func(f *doctor.Facts) { f.Deployments.Value[0].Ready = 1 }},
		"no leader": {"installation", doctor.Problem, "Lease plimsoll-system/plimsoll-controller", "no replica leads",
			func(f *doctor.Facts) { f.Leases.Value[0].Renewed = ago(time.Minute) }},
		"no Lease": {"installation", doctor.Problem, "Deployment plimsoll-system/plimsoll-controller", "there is no Lease",
			func(f *doctor.Facts) { f.Leases.Value = nil }},
		"no Lease yet": {"installation", doctor.Warning, "Deployment plimsoll-system/plimsoll-controller", "there is no Lease",
			func(f *doctor.Facts) { f.Leases.Value, f.Deployments.Value[0].AvailableSince = nil, ago(3*time.Second) }},
		"no Lease after a minute": {"installation", doctor.Problem, "Deployment plimsoll-system/plimsoll-controller",
			"there is no Lease", func(f *doctor.Facts) {
				f.Leases.Value, f.Deployments.Value[0].AvailableSince = nil, ago(61*time.Second)
			}},
		"installed twice": {"installation", doctor.Warning, "", "more than once", func(f *doctor.Facts) {
			second := f.Deployments.Value[0]
			second.Namespace = "other"
			lease := f.Leases.Value[0]
			lease.Namespace = "other"
			f.Deployments.Value, f.Leases.Value = append(f.Deployments.Value, second), append(f.Leases.Value, lease)
		}},
		"another version": {"installation", doctor.Warning, "Deployment plimsoll-system/plimsoll-controller",
			"runs version v1.1.0", func(f *doctor.Facts) {
				f.Deployments.Value[0].Image = "registry:5000/plimsoll:v1.1.0@sha256:00"
			}},
		"a right": {"rights", doctor.Problem, "ServiceAccount plimsoll-system/plimsoll-controller",
			"update horizontalpodautoscalers.autoscaling/status", func(f *doctor.Facts) {
				f.Rights.Value.Denied = []doctor.Right{{Account: "plimsoll-system/plimsoll-controller", Role: "ClusterRole x",
					Verb: "update", Group: "autoscaling", Resource: "horizontalpodautoscalers/status"}}
			}},
		"no right to install": {"rights", doctor.Warning, "", "create clusterroles", func(f *doctor.Facts) {
			f.Rights.Value.Checked, f.InstallationRights.Value = 0, []string{"create clusterroles"}
		}},
		"no definition": {"definitions", doctor.Problem, "CustomResourceDefinition workloadautoscalers.plimsoll.dev",
			"missing", func(f *doctor.Facts) { f.Definitions.Value[0].Exists = false }},
		"another version served": {"definitions", doctor.Problem,
			"CustomResourceDefinition workloadautoscalers.plimsoll.dev", "v1alpha1",
			func(f *doctor.Facts) { f.Definitions.Value[0].Served = []string{"v1"} }},
		"another schema": {"definitions", doctor.Warning, "CustomResourceDefinition workloadautoscalers.plimsoll.dev",
			"schema", func(f *doctor.Facts) { f.Definitions.Value[0].HasOwnSchema = false }},
		"no metrics-server": {"metrics-api", doctor.Problem, "APIService v1beta1.metrics.k8s.io", "not installed",
			func(f *doctor.Facts) { f.APIServices.Value = nil }},
		"metrics-server is down": {"metrics-api", doctor.Problem, "APIService v1beta1.metrics.k8s.io",
			"MissingEndpoints", func(f *doctor.Facts) {
				f.APIServices.Value[0].IsAvailable, f.APIServices.Value[0].Reason = false, "MissingEndpoints"
			}},
		"old samples": {"metrics-api", doctor.Problem, "APIService v1beta1.metrics.k8s.io", "4m0s old",
			func(f *doctor.Facts) {
				f.Samples.Value.Newest, f.Samples.Value.Oldest = ago(4*time.Minute), ago(4*time.Minute)
			}},
		"old samples of v1": {"metrics-api", doctor.Problem, "APIService v1.metrics.k8s.io", "4m0s old",
			func(f *doctor.Facts) {
				f.Samples.Value.Version = "v1"
				f.Samples.Value.Newest, f.Samples.Value.Oldest = ago(4*time.Minute), ago(4*time.Minute)
			}},
		"one version is down": {"metrics-api", doctor.Warning, "APIService v1.metrics.k8s.io", "FailedDiscoveryCheck",
			func(f *doctor.Facts) {
				f.APIServices.Value = append(f.APIServices.Value, doctor.APIService{
					Name: "v1.metrics.k8s.io", Group: "metrics.k8s.io", Reason: "FailedDiscoveryCheck",
				})
			}},
		"no adapter": {"metric-adapters", doctor.Problem, "APIService v1beta1.external.metrics.k8s.io", "shop/web",
			func(f *doctor.Facts) { f.HPAs.Value[0].UsesExternal = true }},
		"an adapter that nobody needs": {"metric-adapters", doctor.Warning, "APIService v1beta1.custom.metrics.k8s.io",
			"not available", func(f *doctor.Facts) {
				f.APIServices.Value = append(f.APIServices.Value,
					doctor.APIService{Name: "v1beta1.custom.metrics.k8s.io", Group: customMetrics})
			}},
		"a node": {"nodes", doctor.Warning, "Node b", "KubeletStopped", func(f *doctor.Facts) {
			f.Nodes.Value = append(f.Nodes.Value, doctor.Node{Name: "b", Why: "KubeletStopped"})
		}},
		"stale kubelet": {"kubelet-samples", doctor.Problem, "Node a", "2m0s old", func(f *doctor.Facts) {
			f.Kubelets[0].Newest = ago(2 * time.Minute)
		}},
		"kubelet without the right": {"kubelet-samples", doctor.Unknown, "", "get nodes/proxy", func(f *doctor.Facts) {
			f.Kubelets[0].Unread = &doctor.Unread{Right: "get nodes/proxy", Command: "kubectl auth can-i get nodes"}
		}},
		"kubelets that nobody reaches": {"kubelet-samples", doctor.Warning, "Nodes a, b", "their kubelets cannot be read",
			func(f *doctor.Facts) {
				f.Kubelets = []doctor.Kubelet{
					{Node: "a", Unread: &doctor.Unread{Why: "i/o timeout"}}, {Node: "b", Unread: &doctor.Unread{Why: "i/o timeout"}},
				}
			}},
		"webhook unreachable": {"webhooks", doctor.Problem, "MutatingWebhookConfiguration inject", "no pod behind",
			func(f *doctor.Facts) { f.Webhooks.Value[0].ReadyEndpoints = 0 }},
		"webhook that may fail": {"webhooks", doctor.Warning, "MutatingWebhookConfiguration inject", "there is no Service",
			func(f *doctor.Facts) { f.Webhooks.Value[0].HasService, f.Webhooks.Value[0].Fails = false, false }},
		"expired authority": {"webhooks", doctor.Problem, "MutatingWebhookConfiguration inject", "expired on 2026-11-23",
			func(f *doctor.Facts) { f.Webhooks.Value[0].Authority.Expires = ago(24 * time.Hour) }},
		"two autoscalers": {"targets", doctor.Problem, "Deployment shop/web", "WorkloadAutoscaler shop/web",
			func(f *doctor.Facts) {
				w := hpa("web")
				w.Kind = wlaKind
				f.WLAs.Value = []doctor.Autoscaler{w}
			}},
		"two autoscalers, one by a kind in lower case": {"targets", doctor.Problem, "Deployment shop/web",
			"WorkloadAutoscaler shop/web", func(f *doctor.Facts) {
				w := hpa("web")
				w.Kind, w.Target.Kind = wlaKind, "deployment"
				f.WLAs.Value = []doctor.Autoscaler{w}
			}},
		"another writer": {"targets", doctor.Problem, "HorizontalPodAutoscaler shop/web", "argocd sets the replica count",
			func(f *doctor.Facts) { f.HPAs.Value[0].Overridden = "argocd sets the replica count too" }},
		"a VPA of the same resource": {"targets", doctor.Warning, "VerticalPodAutoscaler shop/web", "cpu",
			func(f *doctor.Facts) {
				v := hpa("web")
				v.Kind, v.Mode = "VerticalPodAutoscaler", "Auto"
				f.VPAs.Value = []doctor.Autoscaler{v}
			}},
		"a VPA without effect": {"targets", doctor.Warning, "VerticalPodAutoscaler shop/web", "no pod has such a container",
			func(f *doctor.Facts) {
				v := hpa("web")
				v.Kind, v.Mode, v.Ineffective = "VerticalPodAutoscaler", "Off", "the policy for ap has no effect: no pod has such a container"
				f.VPAs.Value = []doctor.Autoscaler{v}
			}},
		"KEDA": {"keda", doctor.Warning, "", "1 ScaledObject", func(f *doctor.Facts) {
			// The HPA that KEDA made of it is no second autoscaler.
			f.HPAs.Value[0].ScaledObject = "web"
			s := hpa("web")
			s.Kind = "ScaledObject"
			f.ScaledObjects.Value = doctor.ScaledObjects{IsServed: true, All: []doctor.Autoscaler{s}}
		}},
		"upstream's VPA": {"upstream-vpa", doctor.Problem, "Deployment kube-system/vpa-updater", "beside Plimsoll's",
			func(f *doctor.Facts) {
				f.Others.Value = []doctor.Deployment{{Component: doctor.VPAUpdater, Wanted: 1,
					Object: doctor.Object{Kind: "Deployment", Namespace: "kube-system", Name: "vpa-updater"}}}
			}},
	} {
		f := good()
		tt.change(f)
		report := Judge(f)
		named := false
		for _, found := range report.Findings {
			switch {
			case found.Level == doctor.OK:
			case found.Check != tt.check || found.Object != tt.object || found.Level != tt.level ||
				!strings.Contains(found.What, tt.says):
				t.Errorf("%s: %+v", name, found)
			case found.Level > doctor.Unknown && (found.Why == "" || found.Do == ""):
				t.Errorf("%s: it is not said why it matters and what to do: %+v", name, found)
			default:
				named = true
			}
		}
		if !named {
			t.Errorf("%s: not named", name)
		}
	}
}

// TestInstall: what is missing is installed again as it was installed before.
func TestInstall(t *testing.T) {
	release := doctor.Release{Namespace: "scaling", Name: "plimsoll"}
	for want, change := range map[string]func(*doctor.Facts){
		"helm install plimsoll oci://ghcr.io/plimsoll-dev/charts/plimsoll --version 1.2.0 --namespace plimsoll-system " +
			"--create-namespace --wait --set nodeAgent.enabled=true": func(f *doctor.Facts) { f.Deployments.Value = nil },
		"kubectl apply --server-side -k config/": func(*doctor.Facts) {},
		"kubectl apply --server-side -k config/horizontal": func(f *doctor.Facts) {
			f.Deployments.Value[0].Args = []string{"--components=horizontal"}
		},
		"kubectl apply --server-side -k config/separate": func(f *doctor.Facts) {
			f.Deployments.Value[0].Args = []string{"--components=horizontal"}
			f.Deployments.Value = append(f.Deployments.Value, doctor.Deployment{
				Object: doctor.Object{Namespace: "plimsoll-system"}, Component: doctor.Recommender,
			})
		},
		"helm upgrade plimsoll charts/plimsoll --namespace scaling --reset-then-reuse-values": func(f *doctor.Facts) {
			f.Deployments.Value[0].Release, f.Program.Version = release, "(devel)"
		},
	} {
		f := good()
		change(f)
		if got := install(f); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
	f := good()
	f.Rights.Value.Denied = []doctor.Right{{Account: "a", Role: "r", Verb: "list", Resource: "pods"}}
	if found := rights(f); len(found) != 1 || !strings.Contains(found[0].Do, "(kubectl apply --server-side -k config/)") {
		t.Errorf("%+v", found)
	}
	f.Deployments.Value[0].Release = release
	if found := rights(f); len(found) != 1 || !strings.HasPrefix(found[0].Do, "upgrade the release") {
		t.Errorf("%+v", found)
	}
}

// TestUpstreamVerticalStays: where Plimsoll leaves VerticalPodAutoscalers to upstream's autoscaler, that is fine, and
// nothing says how to stop it.
func TestUpstreamVerticalStays(t *testing.T) {
	f := good()
	f.Deployments.Value = nil
	f.Others.Value = []doctor.Deployment{{Component: doctor.VPAUpdater, Wanted: 1,
		Object: doctor.Object{Kind: "Deployment", Namespace: "kube-system", Name: "vpa-updater"}}}
	found := upstreamVPA(f)
	if len(found) != 1 || found[0].Level != doctor.OK || found[0].Command != "" ||
		!strings.Contains(found[0].What, "kube-system/vpa-updater") {
		t.Errorf("%+v", found)
	}
}

// TestChart: what somebody has built of the sources installs the chart of the sources: a registry has that of a release
// alone.
func TestChart(t *testing.T) {
	for built, want := range map[string]string{
		"v1.2.0": releasedChart + " --version 1.2.0", "v1.2.0-rc.1": releasedChart + " --version 1.2.0-rc.1",
		"v0.1.1-0.20261127101112-0123456789ab": ownChart, "v0.1.1-rc.1.0.20261127101112-0123456789ab": ownChart,
		"v0.0.0-20261127101112-0123456789ab": ownChart, "v1.2.0+dirty": ownChart, "(devel)": ownChart, "": ownChart,
	} {
		f := good()
		f.Program.Version = built
		if got := chart(f); got != want {
			t.Errorf("%s: %s, want %s", built, got, want)
		}
	}
}

// TestFirstInstall: the command has what fits the cluster, and says what it follows from.
func TestFirstInstall(t *testing.T) {
	before := func(change func(*doctor.Facts)) *doctor.Facts {
		f := good()
		f.Deployments.Value, f.Program.Version = nil, "v0.0.0-20261127101112-0123456789ab"
		change(f)
		return f
	}
	vpas := func(f *doctor.Facts) { f.VPAs.Value = []doctor.Autoscaler{{}} }
	const start = "helm install plimsoll charts/plimsoll --namespace plimsoll-system --create-namespace --wait " +
		"--set image.repository=REGISTRY/plimsoll"
	for name, tt := range map[string]struct {
		change    func(*doctor.Facts)
		want, why string
	}{
		"agents": {func(*doctor.Facts) {}, " --set nodeAgent.enabled=true", "Pod Security level privileged"},
		"VPAs":   {vpas, " --set vertical.enabled=true --set nodeAgent.enabled=true", "1 VerticalPodAutoscaler"},
		"upstream's VPA": {func(f *doctor.Facts) {
			vpas(f)
			f.Others.Value = []doctor.Deployment{{Component: doctor.VPAUpdater, Wanted: 1}}
		}, " --set nodeAgent.enabled=true", "stays off"},
		"VPAs that something recommends for": {func(f *doctor.Facts) {
			f.VPAs.Value = []doctor.Autoscaler{{HasStatus: true}}
		}, " --set nodeAgent.enabled=true", "has recommended"},
		"upstream's VPA, scaled to 0": {func(f *doctor.Facts) {
			vpas(f)
			f.Others.Value = []doctor.Deployment{{Component: doctor.VPAUpdater}}
		}, " --set vertical.enabled=true --set nodeAgent.enabled=true", "REGISTRY is where"},
		"no agents": {func(f *doctor.Facts) { f.Nodes.Value[0].NoAgent = "it runs Windows" }, "", "it runs Windows"},
		"OpenShift": {func(f *doctor.Facts) {
			f.Nodes.Value[0].IsOpenShift, f.Nodes.Value[0].NoAgent = true, "no mount"
		}, " --set podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null", "chooses the users"},
		"no nodes": {func(f *doctor.Facts) { f.Nodes.Value = nil }, "", "install it"},
		"kind": {func(f *doctor.Facts) { f.Nodes.Value[0].CgroupRoot = "/kubelet" },
			" --set nodeAgent.enabled=true --set nodeAgent.kubeletCgroupRoot=/kubelet", "kind"},
	} {
		found := installation(before(tt.change))
		if len(found) != 1 || found[0].Level != doctor.OK || found[0].Command != start+tt.want ||
			!strings.Contains(found[0].Do, tt.why) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// TestStranger: a Deployment with the label of the controller, which anybody may make, is named, and makes no problem. What
// its flags name gets into no command.
func TestStranger(t *testing.T) {
	f := good()
	stranger := f.Deployments.Value[0]
	stranger.Namespace, stranger.Ready = "a-tenant", 0
	stranger.Release = doctor.Release{Namespace: "a-tenant", Name: "mine"}
	stranger.Args = []string{"--horizontal-pod-autoscalers=act", "--leader-elect-resource-name=x'; id; '", "--components=horizontal"}
	f.Deployments.Value = append([]doctor.Deployment{stranger}, f.Deployments.Value...)
	f.ControllerManager.Value = doctor.ControllerManager{Pods: 1, IsHPALoopOn: true}
	report := Judge(f)
	if worst := report.Worst(); worst != doctor.Warning {
		t.Errorf("the worst finding is %s: %+v", worst, report.Findings)
	}
	if !slices.ContainsFunc(report.Findings, func(found doctor.Finding) bool {
		return strings.Contains(found.What, "installed more than once: a-tenant/plimsoll-controller")
	}) {
		t.Errorf("it is not named: %+v", report.Findings)
	}
	if got := install(f); got != "kubectl apply --server-side -k config/" {
		t.Errorf("another release than Plimsoll's: %s", got)
	}
	f.Deployments.Value = f.Deployments.Value[:1]
	f.Deployments.Value[0].Ready = 2
	for _, found := range Judge(f).Findings {
		if strings.Contains(found.What+found.Command, "id;") {
			t.Errorf("%+v", found)
		}
	}
}

// TestUnread: what could not be read is unknown, and named with the right that is missing.
func TestUnread(t *testing.T) {
	why := &doctor.Unread{Right: "list everything", Command: "kubectl auth can-i list everything"}
	f := good()
	f.Server.Unread, f.HPAs.Unread, f.Deployments.Unread, f.Rights.Unread = why, why, why, why
	f.Definitions.Unread, f.APIServices.Unread, f.Nodes.Unread, f.Webhooks.Unread = why, why, why, why
	f.ScaledObjects.Unread, f.Others.Unread = why, why
	for _, found := range Judge(f).Findings {
		if found.Level != doctor.Unknown || !strings.Contains(found.What, "list everything") || found.Command == "" {
			t.Errorf("%+v", found)
		}
	}
}

// TestBounded: the worst of many findings are shown, and the others counted.
func TestBounded(t *testing.T) {
	f := good()
	for i := range 30 {
		f.Kubelets = append(f.Kubelets, doctor.Kubelet{Node: "n", ReadAt: now, Date: now, Newest: ago(40 * time.Second)})
		f.Kubelets[i].Date = now
	}
	f.Kubelets[30].Newest = ago(time.Hour)
	found := kubelets(f)
	if len(found) != most+1 || found[0].Level != doctor.Problem || !strings.Contains(found[most].What, "20 more") {
		t.Errorf("%+v", found)
	}
}

// TestNewestMinor: the newest version is that of the modules.
func TestNewestMinor(t *testing.T) {
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`k8s\.io/client-go v0\.(\d+)\.`).FindSubmatch(text)
	if len(found) != 2 || string(found[1]) != strconv.Itoa(NewestMinor) {
		t.Errorf("go.mod has %s, NewestMinor is %d", found, NewestMinor)
	}
}

// TestOlderVersions: what an older version lacks is a line each, and nothing that is wrong.
func TestOlderVersions(t *testing.T) {
	for version, want := range map[string][]string{
		"v1.30.14-eks-1": {"1.33", "1.35", "1.37"}, "v1.34.4": {"1.35", "1.37"}, "v1.36.3": {"1.37"}, "v1.37.1": nil,
	} {
		f := good()
		f.Server.Value.Version = version
		var found []string
		report := Judge(f)
		for _, finding := range report.Findings {
			if finding.Check != "kubernetes-version" {
				continue
			}
			if finding.Level != doctor.OK {
				t.Errorf("%s: %+v", version, finding)
			}
			if after, is := strings.CutPrefix(finding.What, "before Kubernetes "); is {
				since, _, _ := strings.Cut(after, ",")
				found = append(found, since)
			}
		}
		if !slices.Equal(found, want) {
			t.Errorf("%s lacks what came with %v, want %v", version, found, want)
		}
	}
}
