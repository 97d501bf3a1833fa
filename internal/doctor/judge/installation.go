package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// leaseGrace is how long after its end a Lease may wait for the next leader. firstLeaderGrace is how long pods may be
// ready before one of them leads: the first pods of an installation, or after the Lease's last holder was killed.
const leaseGrace, firstLeaderGrace = 15 * time.Second, time.Minute

func installation(f *doctor.Facts) []doctor.Finding {
	if f.Deployments.Unread != nil {
		return unknown("whether Plimsoll is installed", f.Deployments.Unread)
	}
	all := f.Controllers()
	if len(all) == 0 {
		return notInstalled(f)
	}
	var found []doctor.Finding
	if len(all) > 1 {
		found = append(found, twice(all))
	}
	for i := range f.Deployments.Value {
		found = append(found, deployed(f, &f.Deployments.Value[i])...)
	}
	if len(found) == 0 {
		return ok("Plimsoll runs in namespace %s", all[0].Namespace)
	}
	return bounded(found)
}

// deployed is what is wrong with a Deployment. One elsewhere than where Plimsoll runs may be anybody's, and is no
// problem of Plimsoll's.
func deployed(f *doctor.Facts, d *doctor.Deployment) []doctor.Finding {
	found := append(notReady(d), skew(f, d)...)
	if d.Component == doctor.Controller {
		found = append(found, leader(f, d)...)
	}
	runsHere := func(c doctor.Deployment) bool { return c.Namespace == d.Namespace }
	if !slices.ContainsFunc(f.Expected(), runsHere) {
		for i := range found {
			found[i].Level = min(found[i].Level, doctor.Warning)
		}
	}
	return found
}

func twice(all []doctor.Deployment) doctor.Finding {
	var names []string
	for i := range all {
		names = append(names, all[i].Namespace+"/"+all[i].Name)
	}
	return doctor.Finding{
		Level: doctor.Warning, What: "Plimsoll is installed more than once: " + listed(names),
		Why: "each object is left to the first installation, so that the others do nothing and cost the same",
		Do:  "delete all but one, or give each namespaces of its own (docs/install.md)",
	}
}

// unready is the effect on objects while no pod of a component is ready.
var unready = map[doctor.Component]string{
	doctor.Controller:          "nothing is scaled",
	doctor.Recommender:         "recommendations stay as they are",
	doctor.Updater:             "pods keep the requests that they have",
	doctor.AdmissionController: "new pods start without their recommended requests",
}

func notReady(d *doctor.Deployment) []doctor.Finding {
	if d.Ready >= d.Wanted && d.Wanted > 0 {
		return nil
	}
	found := doctor.Finding{
		Level: doctor.Warning, Object: d.String(),
		What:    fmt.Sprintf("%d of %d pods are ready", d.Ready, d.Wanted),
		Why:     "the other pods cannot stand in for one that ends",
		Do:      "see why pods do not start or are not ready",
		Command: fmt.Sprintf("kubectl describe pods -n %s -l %s=%s", d.Namespace, doctor.NameLabel, d.Component),
	}
	if d.Ready == 0 {
		found.Level, found.Why = doctor.Problem, unready[d.Component]
	}
	if d.Wanted == 0 {
		found.What = "it is scaled to 0"
		found.Do = "scale it up"
		found.Command = fmt.Sprintf("kubectl scale deployment %s -n %s --replicas=2", d.Name, d.Namespace)
	}
	return []doctor.Finding{found}
}

func leader(f *doctor.Facts, d *doctor.Deployment) []doctor.Finding {
	if d.Ready == 0 || d.Flag("leader-elect") == "false" {
		return nil
	}
	if f.Leases.Unread != nil {
		return unknown("whether a replica leads", f.Leases.Unread)
	}
	found := noLeader(f, d)
	ready := f.ServerNow().Sub(d.AvailableSince)
	if len(found) > 0 && ready <= firstLeaderGrace {
		found[0].Level = doctor.Warning
		found[0].Why = fmt.Sprintf("its pods are ready since %s; a leader is elected within seconds", short(ready))
		found[0].Do, found[0].Command = "examine the cluster again in a minute", ""
	}
	return found
}

func noLeader(f *doctor.Facts, d *doctor.Deployment) []doctor.Finding {
	namespace, name := f.LeaseOf(d)
	for i := range f.Leases.Value {
		if l := &f.Leases.Value[i]; l.Namespace == namespace && l.Name == name {
			return expired(f, l)
		}
	}
	return []doctor.Finding{{
		Level: doctor.Problem, Object: d.String(),
		What:    fmt.Sprintf("no replica leads: there is no Lease %s/%s", namespace, name),
		Why:     "replicas wait until they lead, and decide nothing before",
		Do:      "read the controller's log; if its Lease has another name, name it with --controller-lease",
		Command: fmt.Sprintf("kubectl logs -n %s deployment/%s", d.Namespace, d.Name),
	}}
}

func expired(f *doctor.Facts, l *doctor.Lease) []doctor.Finding {
	silent := l.ReadAt.Add(f.Server.Value.Ahead).Sub(l.Renewed) - f.Server.Value.Uncertainty
	if l.Holder != "" && silent <= l.Duration+leaseGrace {
		return nil
	}
	found := doctor.Finding{
		Level: doctor.Problem, Object: l.String(),
		What: fmt.Sprintf("no replica leads: %s renewed the Lease %s ago, and it holds for %s", l.Holder, short(silent),
			short(l.Duration)),
		Why:     "nothing is decided while no replica leads",
		Do:      "read the controller's log, and check that its pods reach the API server",
		Command: fmt.Sprintf("kubectl logs -n %s -l %s=%s", l.Namespace, doctor.NameLabel, doctor.Controller),
	}
	if l.Holder == "" {
		found.What = "no leader: the Lease has no holder"
	}
	return []doctor.Finding{found}
}

// skew compares the version of an image with this program's, where both have one.
func skew(f *doctor.Facts, d *doctor.Deployment) []doctor.Finding {
	image, _, _ := strings.Cut(d.Image, "@")
	_, tag, hasTag := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	there, err := version.ParseSemantic(tag)
	here, errHere := version.ParseSemantic(f.Program.Version)
	if !hasTag || err != nil || errHere != nil || there.Major() == here.Major() && there.Minor() == here.Minor() {
		return nil
	}
	return []doctor.Finding{{
		Level: doctor.Warning, Object: d.String(),
		What: fmt.Sprintf("it runs version %s, and this program is %s", tag, f.Program.Version),
		Why:  "explanations and simulations of this program may differ from what the controller does",
		Do:   "use this program in the version of the cluster, or upgrade the installation",
	}}
}
