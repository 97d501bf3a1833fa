// Package kubelets wires the readers of kubelets and of node agents.
package kubelets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/collect/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/token"
)

// MetricsSource is the source of resource metrics.
type MetricsSource string

// The sources of resource metrics.
const (
	// Auto reads the kubelets where that is granted.
	Auto    MetricsSource = "auto"
	Kubelet MetricsSource = "kubelet"
	// API is metrics.k8s.io alone.
	API MetricsSource = "api"
)

// Sources are all of them.
var Sources = []MetricsSource{Auto, Kubelet, API}

// DefaultAccount is the service account in config/ whose token kubelets receive.
const DefaultAccount = "plimsoll-system/plimsoll-kubelet-reader"

// Config configures the scrapes of kubelets and agents.
type Config struct {
	Source        MetricsSource
	Interval      time.Duration
	MaxPerSecond  float64
	MaxCPU        float64
	MaxConcurrent int
	// Account is the service account, as NAMESPACE/NAME, whose token kubelets receive.
	Account string
	Options kubelet.Options
	// Agents are scraped before kubelets.
	Agents Agents
}

// Reader returns the service account whose token kubelets receive; empty for none.
func (c *Config) Reader() (namespace, name string, err error) {
	if c.Account == "" {
		return "", "", nil
	}
	namespace, name, _ = strings.Cut(c.Account, "/")
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", errors.New("must be NAMESPACE/NAME, or empty")
	}
	return namespace, name, nil
}

func (c *Config) issueTokens(client kubernetes.Interface) error {
	namespace, name, err := c.Reader()
	if err != nil || name == "" {
		return err
	}
	c.Options.Tokens, err = token.New(client.CoreV1().ServiceAccounts(namespace), namespace, name)
	return err
}

// access checks the permissions that reading kubelets requires.
func (c *Config) access(config *rest.Config, client kubernetes.Interface) func(context.Context) (string, error) {
	own := client.AuthorizationV1().SelfSubjectAccessReviews()
	tokens := c.Options.Authentication()
	if tokens == nil {
		// The API server may not know the identity of a client certificate for kubelets.
		return podusage.Rights(own, nil)
	}
	return podusage.Rights(own, func(ctx context.Context) (podusage.Reviews, error) {
		shown, err := tokens.Token(ctx)
		if err != nil {
			return nil, err
		}
		reader := rest.AnonymousClientConfig(config)
		reader.BearerToken = shown
		client, err := authorizationclient.NewForConfig(reader)
		if err != nil {
			return nil, fmt.Errorf("making a client with the token for kubelets: %w", err)
		}
		return &readerReviews{client.SelfSubjectAccessReviews(), func() { tokens.Refused(shown) }}, nil
	})
}

// readerReviews reviews the permissions of the account that kubelets authenticate. If the API server does not accept
// the token, the account may have been created again under its name, and another token is valid.
type readerReviews struct {
	podusage.Reviews
	refused func()
}

// Create implements podusage.Reviews.
func (r *readerReviews) Create(
	ctx context.Context, review *authorizationv1.SelfSubjectAccessReview, options metav1.CreateOptions,
) (*authorizationv1.SelfSubjectAccessReview, error) {
	answer, err := r.Reviews.Create(ctx, review, options)
	if apierrors.IsUnauthorized(err) {
		r.refused()
	}
	return answer, err
}

// Reads reports whether the configuration permits reading kubelets.
func (c *Config) Reads() bool { return c.Source != API }

// ReadsAgents reports whether agents of nodes are scraped before kubelets.
func (c *Config) ReadsAgents() bool { return c.Reads() && c.Agents.Namespace != "" }

// SampleInterval is the shortest time between samples of a pod: with agents, shorter than that of kubelets.
func (c *Config) SampleInterval() time.Duration {
	switch {
	case !c.ReadsAgents():
		return c.Interval
	case c.Agents.Period == 0:
		return min(c.Interval, podusage.AgentPeriod)
	}
	return min(c.Interval, c.Agents.Period)
}

// NewService makes the service that scrapes the nodes for all loops of a process: they share one client and one token
// for kubelets, one client and one certificate for agents, and one cache of nodes. It starts nothing.
func (c *Config) NewService(
	config *rest.Config, client kubernetes.Interface, registerer prometheus.Registerer, log logr.Logger,
) (*podusage.Service, error) {
	if err := c.issueTokens(client); err != nil {
		return nil, err
	}
	kubelets, err := kubelet.NewClient(config, c.Options, log)
	if err != nil {
		return nil, err
	}
	cfg := podusage.Config{
		Scraper: func(store *rate.Store) (podusage.Scraper, error) { return kubelet.NewScraper(kubelets, store) },
		Target:  c.Options.Target,
		Nodes: func() cache.SharedIndexInformer {
			factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim.Transform))
			return factory.Core().V1().Nodes().Informer()
		},
		Rounds: scrape.Config[kubelet.Target]{
			Period: c.Interval, MaxPerSecond: c.MaxPerSecond, MaxCPU: c.MaxCPU, MaxConcurrent: c.MaxConcurrent,
		},
		Registerer: registerer,
		Log:        log,
	}
	if c.ReadsAgents() {
		agents, err := newAgents(&c.Agents, client, log)
		if err != nil {
			return nil, err
		}
		cfg.Agents = c.samplesFrom(agents)
	}
	if c.Source == Auto {
		cfg.Access = c.access(config, client)
	}
	return podusage.New(cfg)
}
