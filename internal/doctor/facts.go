package doctor

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Unread says why something was not read.
type Unread struct {
	// Right is the missing permission, such as "list nodes"; empty for another reason.
	Right string
	// Command grants or shows that right.
	Command string
	// Why is a sentence for all other reasons.
	Why string
}

// Reading is something that was read, or why it was not.
type Reading[T any] struct {
	Value  T
	Unread *Unread
}

// Facts are everything that is known of the cluster.
type Facts struct {
	Program Program
	// Now is the time on this machine when all was read.
	Now time.Time

	Server             Reading[Server]
	ControllerManager  Reading[ControllerManager]
	HPAs               Reading[[]Autoscaler]
	WLAs               Reading[[]Autoscaler]
	VPAs               Reading[[]Autoscaler]
	ScaledObjects      Reading[ScaledObjects]
	Leases             Reading[[]Lease]
	Deployments        Reading[[]Deployment]
	Others             Reading[[]Deployment]
	APIServices        Reading[[]APIService]
	Samples            Reading[Samples]
	Nodes              Reading[[]Node]
	Kubelets           []Kubelet
	Definitions        Reading[[]Definition]
	Rights             Reading[Rights]
	InstallationRights Reading[[]string]
	Webhooks           Reading[[]Webhook]
}

// ServerNow is Now by the API server's clock.
func (f *Facts) ServerNow() time.Time { return f.Now.Add(f.Server.Value.Ahead) }

// Controllers are the Deployments of Plimsoll's controller.
func (f *Facts) Controllers() []Deployment {
	return slices.DeleteFunc(slices.Clone(f.Deployments.Value), func(d Deployment) bool {
		return d.Component != Controller
	})
}

// Expected are the Controllers in the namespace in which one is expected, or all of them where none is there. Anybody
// may give a Deployment of his own the label of the controller.
func (f *Facts) Expected() []Deployment {
	all := f.Controllers()
	isElsewhere := func(d Deployment) bool { return d.Namespace != f.Program.Namespace }
	if expected := slices.DeleteFunc(slices.Clone(all), isElsewhere); len(expected) > 0 {
		return expected
	}
	return all
}

// Release is the Helm release that has installed Plimsoll; false without one.
func (f *Facts) Release() (Release, bool) {
	for _, d := range f.Expected() {
		if d.Release.Name != "" {
			return d.Release, true
		}
	}
	return Release{}, false
}

// LeaseOf are the namespace and the name of the Lease for which the replicas of a controller elect a leader.
func (f *Facts) LeaseOf(d *Deployment) (namespace, name string) {
	namespace, name = d.Flag("leader-elect-resource-namespace"), d.Flag("leader-elect-resource-name")
	if !IsName(namespace) { // also a variable of the pod's, which is its namespace
		namespace = d.Namespace
	}
	if !IsName(name) {
		name = f.Program.Lease
	}
	return namespace, name
}

// IsName reports whether an object may have the name. What flags of strangers name otherwise gets into no request, and
// into no command that is pasted into a shell.
func IsName(text string) bool { return len(validation.IsDNS1123Subdomain(text)) == 0 }

// IsVertical reports whether an installation autoscales vertically.
func (f *Facts) IsVertical() bool {
	return slices.ContainsFunc(f.Expected(), func(d Deployment) bool { return d.IsVertical() }) || f.IsSeparate()
}

// IsSeparate reports whether recommender or updater run in Deployments of their own, as config/separate has them.
func (f *Facts) IsSeparate() bool {
	return slices.ContainsFunc(f.Deployments.Value, func(d Deployment) bool {
		return d.Namespace == f.Program.Namespace && (d.Component == Recommender || d.Component == Updater)
	})
}

// Program is this program.
type Program struct {
	// Version is this program's.
	Version string
	// Namespace and Lease are those in which the controller is expected.
	Namespace, Lease string
	// ClusterFlags has the flags that select the cluster, for printed commands.
	ClusterFlags []string
}

// Server is the API server.
type Server struct {
	// Version is as v1.37.1.
	Version string
	// HasClock says that its clock was compared with that of this machine.
	HasClock bool
	// Ahead is how far its clock is ahead of this machine's, give or take Uncertainty.
	Ahead, Uncertainty time.Duration
}

// Object is an object of the API.
type Object struct{ Kind, Namespace, Name string }

// String is as "Deployment shop/web".
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Write is the newest write of a status by a field manager, by the API server's clock.
type Write struct {
	By string
	At time.Time
}

// Target identifies the target of an autoscaler.
type Target struct{ Group, Kind, Namespace, Name string }

// Key is the same for all references to one object: the API's clients accept a kind in lower case too.
func (t Target) Key() Target {
	t.Kind = strings.ToLower(t.Kind)
	return t
}

// Autoscaler is a HorizontalPodAutoscaler, a WorkloadAutoscaler or a VerticalPodAutoscaler.
type Autoscaler struct {
	Object
	Target  Target
	Created time.Time
	// Mode is that of a WorkloadAutoscaler, and the update mode of a VerticalPodAutoscaler.
	Mode string
	// Resources has the resources of its Resource metrics with a utilization target, or those that a
	// VerticalPodAutoscaler controls.
	Resources []string
	// UsesResources, UsesCustom and UsesExternal say which metrics APIs it needs.
	UsesResources, UsesCustom, UsesExternal bool
	// ScaledObject is the name of the one that made it; empty if none did.
	ScaledObject string
	// Overridden is the message of its condition ReplicasOverridden; empty unless that is True.
	Overridden string
	// Ineffective is the message of a VerticalPodAutoscaler's condition ConfigIneffective; empty unless that is True.
	Ineffective string
	// HasStatus says that some controller has written conditions into it.
	HasStatus bool
	// Writes has the writes of its status.
	Writes []Write
}

// ControllerManager has the flags of kube-controller-manager that its pods show.
type ControllerManager struct {
	// Pods is the number of its pods; 0 on clusters that a provider manages.
	Pods int
	// IsHPALoopOn is known only of pods.
	IsHPALoopOn bool
	// Lease is its Lease; nil if it has none.
	Lease *Lease
}

// Lease is one for leader election.
type Lease struct {
	Object
	Holder  string
	Renewed time.Time
	// Duration is for how long it holds.
	Duration time.Duration
	ReadAt   time.Time
}

// ScaledObjects are KEDA's.
type ScaledObjects struct {
	IsServed bool
	All      []Autoscaler
}

// Component is a component of Plimsoll that a Deployment runs.
type Component string

// Plimsoll's components, by their label app.kubernetes.io/name, and those of others, by their names.
const (
	Controller          Component = "plimsoll-controller"
	Recommender         Component = "plimsoll-recommender" // in a process of its own
	Updater             Component = "plimsoll-updater"     // the same
	AdmissionController Component = "plimsoll-admission-controller"
	KEDAOperator        Component = "keda-operator"
	VPARecommender      Component = "vpa-recommender"
	VPAUpdater          Component = "vpa-updater"
	VPAAdmissionServer  Component = "vpa-admission-controller"
)

// NameLabel is the label with the name of a component of Plimsoll.
const NameLabel = "app.kubernetes.io/name"

// Deployment runs a component.
type Deployment struct {
	Object
	Component     Component
	Wanted, Ready int32
	// AvailableSince is when enough of its pods became ready, by the API server's clock; zero if they are not.
	AvailableSince time.Time
	// Account is its service account.
	Account string
	Image   string
	Args    []string
	// Release is the Helm release that it belongs to, empty without one.
	Release Release
}

// Release is a release of Helm.
type Release struct{ Namespace, Name string }

// Flag is the value of a flag in the form --name=value; empty without it.
func (d *Deployment) Flag(name string) string {
	value := ""
	for _, arg := range d.Args {
		if after, isIt := strings.CutPrefix(arg, "--"+name+"="); isIt {
			value = after
		}
	}
	return value
}

// IsVertical reports whether the flags have a component of vertical autoscaling run.
func (d *Deployment) IsVertical() bool { return d.runs("recommender") || d.runs("updater") }

// runs reports whether the flags have a component run; all do without any.
func (d *Deployment) runs(component string) bool {
	components := d.Flag("components")
	return components == "" || slices.Contains(strings.Split(components, ","), component)
}

// APIService is a version of an API group that the API server forwards.
type APIService struct {
	Name, Group, Version string
	// Service is the Service to which requests are forwarded, as namespace/name.
	Service         string
	IsAvailable     bool
	Reason, Message string
}

// Samples has the samples of metrics.k8s.io.
type Samples struct {
	// IsServed says that there is such an API, Version which of its versions was read.
	IsServed bool
	Version  string
	ReadAt   time.Time
	Pods     int
	// Nodes is the number of nodes with samples, which is read only if no pod has one.
	Nodes int
	// Newest and Oldest are the ends of their windows; zero if there are none.
	Newest, Oldest time.Time
	// OldestPod has the oldest.
	OldestPod string
	// Window is the longest over which a sample was measured.
	Window time.Duration
}

// Node is one.
type Node struct {
	Name    string
	IsReady bool
	// Why is the reason for which it is not.
	Why string
	// NoAgent is the reason that the node cannot run Plimsoll's agent; empty if it can.
	NoAgent string
	// IsOpenShift says that it is one of OpenShift, which chooses the users of pods itself.
	IsOpenShift bool
	// CgroupRoot is the kubelet's --cgroup-root where it is known to have one.
	CgroupRoot string
}

// Kubelet has the response of a node's kubelet.
type Kubelet struct {
	Node   string
	Unread *Unread
	ReadAt time.Time
	// Date is its clock when it answered; zero if the answer had none.
	Date time.Time
	// Newest is its newest sample of CPU use; zero without one.
	Newest time.Time
	// HasFailed says that it could not measure its containers.
	HasFailed bool
}

// Definition is a CustomResourceDefinition.
type Definition struct {
	Name string
	// IsVertical says that only vertical autoscaling needs it.
	IsVertical bool
	Exists     bool
	// IsEstablished says that the API server serves it.
	IsEstablished bool
	// Served are the versions that it serves, Stored those of stored objects, Wanted those of this program.
	Served, Stored, Wanted []string
	// HasOwnSchema says that its schemas are those of this program.
	HasOwnSchema bool
}

// Right is a permission that an account needs.
type Right struct {
	// Account is namespace/name.
	Account string
	// Role is the one in config/ that grants it.
	Role                                   string
	Verb, Group, Resource, Name, Namespace string
}

// Rights has the permissions of Plimsoll's accounts.
type Rights struct {
	// Checked is the number of checked permissions; 0 if Plimsoll is not installed.
	Checked int
	Denied  []Right
}

// Authority is a CA in a webhook's caBundle.
type Authority struct {
	IsMissing, IsUnreadable bool
	// Expires is when the last of its certificates does.
	Expires time.Time
}

// Webhook is one of a configuration.
type Webhook struct {
	// Configuration is the object that has it.
	Configuration Object
	Name          string
	// Fails says that requests are refused while it does not answer.
	Fails bool
	// IsAskedAboutPods and IsAskedAboutAutoscalers say about which requests the API server asks it.
	IsAskedAboutPods, IsAskedAboutAutoscalers bool
	// IsOwn says that it is Plimsoll's or upstream's of VPAs.
	IsOwn bool
	// Service is namespace/name; empty if it has a URL.
	Service   string
	Authority Authority
	// Namespaces selects those about whose objects it is asked; nil for all.
	Namespaces *metav1.LabelSelector
	// HasService says that the Service exists, and IsExternal that it has no endpoints because it is a name.
	HasService, IsExternal bool
	ReadyEndpoints         int
	// Unread is the error of reading the Service's endpoints.
	Unread *Unread
}
