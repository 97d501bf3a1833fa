package kubelets

import (
	"bytes"
	"context"
	"crypto"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/nodeagents"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
)

// The names in config/node-agent.
const (
	// agentName is the name of the agents' service account and of their label app.kubernetes.io/name.
	agentName = "plimsoll-node-agent"
	// authorityMap is the ConfigMap with the CA for agents, under authorityKey.
	authorityMap = "plimsoll-node-agent-authority"
	authorityKey = certificate.AuthorityKey
	// authorityOwner is the annotation with the name of the Secret from which the ConfigMap is filled: two installations
	// would overwrite each other's CA.
	authorityOwner = "plimsoll.dev/authority"
	// DefaultAuthority is the Secret with the CA.
	DefaultAuthority = "plimsoll-system/plimsoll-node-agent-authority"
)

const (
	// certificateLifetime is that of the certificates of the controller and of agents.
	certificateLifetime = 30 * 24 * time.Hour
	// authoritySettles is how long a CA is published to agents before it signs. The kubelet renews a ConfigMap within some
	// two minutes.
	authoritySettles = time.Hour
	// upkeepPeriod is the period of renewing certificates, upkeepRetry the pause after a failure.
	upkeepPeriod = 5 * time.Minute
	upkeepRetry  = 10 * time.Second
	byNode       = "node"
)

// Agents configures the agents of nodes.
type Agents struct {
	// Namespace is theirs; empty to use none.
	Namespace string
	Port      int
	// Authority is the Secret, as NAMESPACE/NAME, with their CA.
	Authority string
	// Period is the time between two scrapes of an agent; 0 for the period that decisions of the horizontal loop need.
	Period time.Duration
}

// Validate returns an error for options that cannot work.
func (a *Agents) Validate() error {
	_, err := namespacedName(a.Authority)
	switch {
	case a.Namespace == "":
		return nil
	case a.Port < 1 || a.Port > 65535:
		return fmt.Errorf("--node-agent-port=%d is not a port", a.Port)
	case err != nil:
		return fmt.Errorf("--node-agent-authority=%s %w", a.Authority, err)
	}
	return nil
}

func namespacedName(text string) (parts [2]string, err error) {
	namespace, name, _ := strings.Cut(text, "/")
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return parts, errors.New("must be NAMESPACE/NAME")
	}
	return [2]string{namespace, name}, nil
}

// agents provides the addresses and certificates for requests to agents.
type agents struct {
	config Agents
	client kubernetes.Interface
	kept   *certificate.Kept
	log    logr.Logger
	// requests keeps the connections.
	requests *nodeagents.Client
	// pods are the agents' pods; nil before the first run.
	pods atomic.Pointer[cache.SharedIndexInformer]

	// mu guards the following.
	mu sync.Mutex
	// chosen is the pod that each node's agent was last found in.
	chosen map[string]string
}

// newAgents makes it. It starts nothing.
func newAgents(c *Agents, client kubernetes.Interface, log logr.Logger) (*agents, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	secret, err := namespacedName(c.Authority)
	if err != nil {
		return nil, err
	}
	a := &agents{config: *c, client: client, log: log, chosen: map[string]string{}}
	a.kept, err = certificate.Keep(client.CoreV1().Secrets(secret[0]), secret[1], certificate.Terms{
		Names: []string{"plimsoll-controller"}, Lifetime: certificateLifetime, Settle: authoritySettles,
		Authority: "plimsoll-node-agents", Holder: "plimsoll-controller", IsClient: true,
	})
	if err != nil {
		return nil, err
	}
	a.requests, err = nodeagents.New(nodeagents.Config{Authority: a, Review: a.review, Log: log})
	return a, err
}

// samplesFrom configures the scrapes of agents: the budget is that of each loop alone.
func (c *Config) samplesFrom(a *agents) *podusage.Agents {
	return &podusage.Agents{
		Scraper: func(store *rate.Store) (podusage.AgentScraper, error) {
			return nodeagents.NewScraper(a.requests, store)
		},
		Find: a.find, Run: a.run,
		Rounds: scrape.Config[kubelet.Target]{
			Period: c.Agents.Period, MaxPerSecond: c.MaxPerSecond, MaxCPU: c.MaxCPU, MaxConcurrent: c.MaxConcurrent,
		},
	}
}

// Credentials implements nodeagents.Authority.
func (a *agents) Credentials() *nodeagents.Credentials {
	shown := a.kept.Shown()
	if shown == nil {
		return nil
	}
	return &nodeagents.Credentials{Shown: shown.Certificate, Authorities: shown.Authorities}
}

// Sign implements nodeagents.Authority.
func (a *agents) Sign(now time.Time, node string, key crypto.PublicKey) ([]byte, error) {
	return a.kept.Sign(now, node, key)
}

// run follows the agents' pods and keeps certificates current, until ctx ends.
func (a *agents) run(ctx context.Context) {
	informer := coreinformers.NewFilteredPodInformer(a.client, a.config.Namespace, 0, cache.Indexers{byNode: nodeOf},
		func(options *metav1.ListOptions) { options.LabelSelector = "app.kubernetes.io/name=" + agentName })
	// It has not started, so SetTransform cannot fail.
	_ = informer.SetTransform(slimAgent)
	a.pods.Store(&informer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		informer.RunWithContext(ctx)
	}()
	complaint := ""
	for ctx.Err() == nil {
		wait, wrong := upkeepPeriod, ""
		if err := a.upkeep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			wait, wrong = upkeepRetry, err.Error()
		}
		if wrong != complaint && wrong != "" {
			a.log.Info("node agents cannot be reached, or their client certificate expires soon", "err", wrong)
		}
		complaint = wrong
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
	<-done
}

// upkeep renews certificates, and publishes the authority where agents read it.
func (a *agents) upkeep(ctx context.Context, now time.Time) error {
	if err := a.kept.Refresh(ctx, now); err != nil {
		return err
	}
	authorities := a.kept.Shown().Authorities
	maps := a.client.CoreV1().ConfigMaps(a.config.Namespace)
	published, err := maps.Get(ctx, authorityMap, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the CA of the agents (kubectl apply -k config/node-agent): %w", err)
	}
	switch owner := published.Annotations[authorityOwner]; {
	case owner != "" && owner != a.config.Authority:
		return fmt.Errorf("the agents already trust the CA in Secret %s, of another installation "+
			"(if there is none, remove the annotation %s from ConfigMap %s/%s)",
			owner, authorityOwner, a.config.Namespace, authorityMap)
	case owner != "" && bytes.Equal([]byte(published.Data[authorityKey]), authorities):
		return nil
	}
	published = published.DeepCopy()
	metav1.SetMetaDataAnnotation(&published.ObjectMeta, authorityOwner, a.config.Authority)
	published.Data = map[string]string{authorityKey: string(authorities)}
	if _, err = maps.Update(ctx, published, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("publishing the CA of the agents: %w", err)
	}
	return nil
}

// slimAgent keeps the fields of an agent's pod that are read.
func slimAgent(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
			CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
		},
		Spec: corev1.PodSpec{NodeName: pod.Spec.NodeName, ServiceAccountName: pod.Spec.ServiceAccountName},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, PodIP: pod.Status.PodIP,
			Conditions: slices.DeleteFunc(slices.Clone(pod.Status.Conditions), func(c corev1.PodCondition) bool {
				return c.Type != corev1.PodReady
			}),
		},
	}, nil
}

func nodeOf(object any) ([]string, error) {
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" {
		return []string{pod.Spec.NodeName}, nil
	}
	return nil, nil
}

// find returns the address of a node's agent. If the node has several pods, it is the one that was found before, while
// that runs: an address that kept changing would be another agent each time. Otherwise it is a ready one, the newest.
func (a *agents) find(node string) (address string, found bool) {
	informer := a.pods.Load()
	if informer == nil {
		return "", false
	}
	objects, err := (*informer).GetIndexer().ByIndex(byNode, node)
	if err != nil {
		return "", false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var chosen *corev1.Pod
	for _, object := range objects {
		pod, ok := object.(*corev1.Pod)
		switch {
		case !ok || !isAgent(pod):
		case string(pod.UID) == a.chosen[node]:
			return a.addressOf(pod), true
		case chosen == nil || isBefore(pod, chosen):
			chosen = pod
		}
	}
	if chosen == nil {
		delete(a.chosen, node)
		return "", false
	}
	a.chosen[node] = string(chosen.UID)
	return a.addressOf(chosen), true
}

// isAgent reports whether a pod is that of an agent, and runs.
func isAgent(pod *corev1.Pod) bool {
	return pod.Spec.ServiceAccountName == agentName && pod.Status.Phase == corev1.PodRunning &&
		pod.DeletionTimestamp == nil && nodeagents.CanBeAt(pod.Status.PodIP)
}

func (a *agents) addressOf(pod *corev1.Pod) string {
	return net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(a.config.Port))
}

// isBefore reports whether a pod is preferred to another.
func isBefore(pod, other *corev1.Pod) bool {
	if ready := isReady(pod); ready != isReady(other) {
		return ready
	}
	if !pod.CreationTimestamp.Equal(&other.CreationTimestamp) {
		return other.CreationTimestamp.Before(&pod.CreationTimestamp)
	}
	return pod.UID < other.UID
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// The claims of a pod's token.
const (
	podNameClaim = "authentication.kubernetes.io/pod-name"
	podUIDClaim  = "authentication.kubernetes.io/pod-uid"
)

var errNoAgent = errors.New("the token is not of an agent's pod")

// review returns the name of the node of a token's pod. The token must be for this purpose alone, and of a pod of an
// agent that exists.
func (a *agents) review(ctx context.Context, token string) (node string, err error) {
	review, err := a.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{selection.Audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("reviewing the token: %w", err)
	}
	status := &review.Status
	if !status.Authenticated || !slices.Contains(status.Audiences, selection.Audience) ||
		status.User.Username != "system:serviceaccount:"+a.config.Namespace+":"+agentName {
		return "", errNoAgent
	}
	names, uids := status.User.Extra[podNameClaim], status.User.Extra[podUIDClaim]
	informer := a.pods.Load()
	if len(names) != 1 || len(uids) != 1 || informer == nil {
		return "", errNoAgent
	}
	object, exists, err := (*informer).GetStore().GetByKey(a.config.Namespace + "/" + names[0])
	pod, ok := object.(*corev1.Pod)
	if err != nil || !exists || !ok || string(pod.UID) != uids[0] || pod.Spec.NodeName == "" {
		return "", errNoAgent
	}
	return pod.Spec.NodeName, nil
}
