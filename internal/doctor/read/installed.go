package read

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

func leaseFacts(l *coordinationv1.Lease) doctor.Lease {
	return doctor.Lease{
		Object: doctor.Object{Kind: "Lease", Namespace: l.Namespace, Name: l.Name},
		Holder: ptr.Deref(l.Spec.HolderIdentity, ""), Renewed: ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{}).Time,
		Duration: time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0)) * time.Second, ReadAt: time.Now(),
	}
}

// leases returns the Leases of Plimsoll's controllers in all namespaces, by the default name and by the names in the
// flags of their Deployments.
func (r *reader) leases(ctx context.Context) {
	wanted := []string{r.facts.Program.Lease}
	for _, d := range r.facts.Controllers() {
		if _, name := r.facts.LeaseOf(&d); !slices.Contains(wanted, name) {
			wanted = append(wanted, name)
		}
	}
	what := request{verb: "list", group: "coordination.k8s.io", resource: "leases"}
	r.facts.Leases = reading(ctx, r, what, func(ctx context.Context) ([]doctor.Lease, error) {
		var all []doctor.Lease
		for _, name := range wanted {
			err := list(ctx, r.api, "/apis/coordination.k8s.io/v1/leases", named(name),
				func(l *coordinationv1.Lease) { all = append(all, leaseFacts(l)) })
			if err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}

func named(name string) url.Values { return url.Values{"fieldSelector": {"metadata.name=" + name}} }

// controllerManager reads what kube-controller-manager shows of itself where it runs as a pod, and its Lease.
func (r *reader) controllerManager(ctx context.Context) {
	what := request{verb: "list", resource: "pods", namespace: "kube-system"}
	r.facts.ControllerManager = reading(ctx, r, what, func(ctx context.Context) (doctor.ControllerManager, error) {
		var read doctor.ControllerManager
		err := list(ctx, r.api, "/api/v1/namespaces/kube-system/pods",
			url.Values{"labelSelector": {"component=kube-controller-manager"}}, func(p *corev1.Pod) {
				read.Pods++
				for i := range p.Spec.Containers {
					c := &p.Spec.Containers[i]
					read.IsHPALoopOn = read.IsHPALoopOn || isHPALoopOn(append(c.Command[:len(c.Command):len(c.Command)], c.Args...))
				}
			})
		return read, err
	})
	own := request{verb: "get", group: "coordination.k8s.io", resource: "leases", namespace: "kube-system"}
	there := reading(ctx, r, own, func(ctx context.Context) (l coordinationv1.Lease, err error) {
		err = r.api.get(ctx, "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager", nil, &l)
		return l, err
	})
	// Where kube-controller-manager runs elsewhere there is none, and nothing depends on it.
	if there.Unread == nil {
		found := leaseFacts(&there.Value)
		r.facts.ControllerManager.Value.Lease = &found
	}
}

// hpaLoops are the names of the loop in --controllers; the second is the older one.
var hpaLoops = []string{"horizontal-pod-autoscaler-controller", "horizontalpodautoscaling"}

// isHPALoopOn reads --controllers of kube-controller-manager.
func isHPALoopOn(command []string) bool {
	controllers := "*"
	for i, arg := range command {
		if value, isIt := strings.CutPrefix(arg, "--controllers="); isIt {
			controllers = value
		} else if arg == "--controllers" && i+1 < len(command) {
			controllers = command[i+1]
		}
	}
	isOn := false
	for name := range strings.SplitSeq(controllers, ",") {
		isOn = isOn || name == "*"
		for _, loop := range hpaLoops {
			if name == "-"+loop {
				return false
			}
			isOn = isOn || name == loop
		}
	}
	return isOn
}

func deploymentFacts(d *appsv1.Deployment, component doctor.Component) doctor.Deployment {
	read := doctor.Deployment{
		Object:    doctor.Object{Kind: "Deployment", Namespace: d.Namespace, Name: d.Name},
		Component: component, Wanted: ptr.Deref(d.Spec.Replicas, 1), Ready: d.Status.ReadyReplicas,
		Account: cmp.Or(d.Spec.Template.Spec.ServiceAccountName, "default"),
		Release: releaseOf(d.Annotations),
	}
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentAvailable && c.Status == corev1.ConditionTrue {
			read.AvailableSince = c.LastTransitionTime.Time
		}
	}
	for i := range d.Spec.Template.Spec.Containers {
		c := &d.Spec.Template.Spec.Containers[i]
		if i == 0 {
			read.Image = c.Image
		}
		read.Args = append(append(read.Args, c.Command...), c.Args...)
	}
	return read
}

// helmName is what Helm takes as the name of a release, and Kubernetes as that of a namespace. Anybody may annotate a
// Deployment of his own, and what doctor prints is pasted into shells.
var helmName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$`)

// releaseOf is the release that Helm's annotations name.
func releaseOf(annotations map[string]string) doctor.Release {
	release := doctor.Release{
		Namespace: annotations["meta.helm.sh/release-namespace"], Name: annotations["meta.helm.sh/release-name"],
	}
	if !helmName.MatchString(release.Name) || !helmName.MatchString(release.Namespace) {
		return doctor.Release{}
	}
	return release
}

var listDeployments = request{verb: "list", group: "apps", resource: "deployments"}

const deploymentsPath = "/apis/apps/v1/deployments"

// installation reads Plimsoll's Deployments, then their Leases and the rights of their accounts.
func (r *reader) installation(ctx context.Context) {
	selector := fmt.Sprintf("%s in (%s,%s,%s,%s)", doctor.NameLabel, doctor.Controller, doctor.Recommender, doctor.Updater,
		doctor.AdmissionController)
	r.facts.Deployments = reading(ctx, r, listDeployments, func(ctx context.Context) ([]doctor.Deployment, error) {
		var all []doctor.Deployment
		err := list(ctx, r.api, deploymentsPath, url.Values{"labelSelector": {selector}}, func(d *appsv1.Deployment) {
			all = append(all, deploymentFacts(d, doctor.Component(d.Labels[doctor.NameLabel])))
		})
		return all, err
	})
	r.leases(ctx)
	if unread := r.facts.Deployments.Unread; unread != nil {
		r.facts.Rights.Unread = unread
		return
	}
	r.rights(ctx)
}

// others reads the Deployments of other autoscalers, which have upstream's names.
func (r *reader) others(ctx context.Context) {
	components := []doctor.Component{
		doctor.KEDAOperator, doctor.VPARecommender, doctor.VPAUpdater, doctor.VPAAdmissionServer,
	}
	r.facts.Others = reading(ctx, r, listDeployments, func(ctx context.Context) ([]doctor.Deployment, error) {
		var all []doctor.Deployment
		for _, component := range components {
			err := list(ctx, r.api, deploymentsPath, named(string(component)),
				func(d *appsv1.Deployment) { all = append(all, deploymentFacts(d, component)) })
			if err != nil {
				return nil, err
			}
		}
		return all, nil
	})
}
