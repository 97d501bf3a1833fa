package judge

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// The chart of a release, and that of a folder with the sources.
const (
	releasedChart = "oci://ghcr.io/plimsoll-dev/charts/plimsoll"
	ownChart      = "charts/plimsoll"
)

// chart is the chart of this program's version, as Helm's arguments.
func chart(f *doctor.Facts) string {
	if v := released(f); v != nil {
		return releasedChart + " --version " + v.String()
	}
	return ownChart
}

// pseudoVersion is how the version ends that the go command gives a commit: with its time and its name.
var pseudoVersion = regexp.MustCompile(`[-.]\d{14}-[0-9a-f]{12}$`)

// released is the version of this program; nil if it is not a release.
func released(f *doctor.Facts) *version.Version {
	v, err := version.ParseSemantic(f.Program.Version)
	if err != nil || v.BuildMetadata() != "" || pseudoVersion.MatchString(v.String()) {
		return nil
	}
	return v
}

// install is the command that installs what this version has, or installs it again: as it was installed before.
func install(f *doctor.Facts) string {
	if release, isOne := f.Release(); isOne {
		return fmt.Sprintf("helm upgrade %s %s --namespace %s --reset-then-reuse-values", release.Name, chart(f),
			release.Namespace)
	}
	switch {
	case len(f.Controllers()) == 0:
	case f.IsSeparate():
		return "kubectl apply --server-side -k config/separate"
	case f.IsVertical():
		return "kubectl apply --server-side -k config/"
	default: // not what evicts, resizes and changes pods
		return "kubectl apply --server-side -k config/horizontal"
	}
	command, _ := firstInstall(f)
	return command
}

// notInstalled has the command of a first installation that fits the cluster.
func notInstalled(f *doctor.Facts) []doctor.Finding {
	command, why := firstInstall(f)
	return []doctor.Finding{{
		Level: doctor.OK, What: "Plimsoll is not installed as a Deployment",
		Do: strings.Join(append([]string{"install it with this command"}, why...), "; "), Command: command,
	}}
}

// firstInstall is that command, and what it follows from.
func firstInstall(f *doctor.Facts) (command string, why []string) {
	command = fmt.Sprintf("helm install plimsoll %s --namespace %s --create-namespace --wait", chart(f),
		cmp.Or(f.Program.Namespace, "plimsoll-system"))
	set := func(value, because string) {
		if value != "" {
			command += " --set " + value
		}
		why = append(why, because)
	}
	if released(f) == nil {
		set("image.repository=REGISTRY/plimsoll", "REGISTRY is where you have pushed the image")
	}
	hasStatus := func(v doctor.Autoscaler) bool { return v.HasStatus }
	switch vpas := len(f.VPAs.Value); {
	case isUpstreamVertical(f):
		set("", "upstream's vertical autoscaler runs, so Plimsoll's stays off")
	case slices.ContainsFunc(f.VPAs.Value, hasStatus): // by one that a provider runs elsewhere, perhaps
		set("", "something has recommended for VerticalPodAutoscalers, so Plimsoll's vertical autoscaling stays off")
	case vpas > 0 && f.Others.Unread == nil:
		set("vertical.enabled=true", fmt.Sprintf("vertical autoscaling is for %s", count(vpas, "VerticalPodAutoscaler")))
	}
	if slices.ContainsFunc(f.Nodes.Value, func(n doctor.Node) bool { return n.IsOpenShift }) {
		set("podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null", "OpenShift chooses the users of pods")
	}
	agents(f, set)
	return command, why
}

// agents adds those of the nodes, where some can have one.
func agents(f *doctor.Facts, set func(value, because string)) {
	nodes := f.Nodes.Value
	able := slices.IndexFunc(nodes, func(n doctor.Node) bool { return n.NoAgent == "" })
	switch {
	case len(nodes) == 0:
	case able < 0:
		set("", "no node can have an agent: "+nodes[0].NoAgent)
	default:
		set("nodeAgent.enabled=true", "the agents need a namespace with the Pod Security level privileged; without them a "+
			"count follows a sudden load seconds later")
		if root := nodes[able].CgroupRoot; root != "" {
			set("nodeAgent.kubeletCgroupRoot="+root, "the kubelets of kind have that cgroup root")
		}
	}
}

// isUpstreamVertical reports whether a part of upstream's vertical autoscaler runs.
func isUpstreamVertical(f *doctor.Facts) bool {
	return slices.ContainsFunc(f.Others.Value, func(d doctor.Deployment) bool {
		return d.Component != doctor.KEDAOperator && d.Wanted > 0
	})
}
