package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/rate"
	"github.com/plimsoll-dev/plimsoll/internal/collect/kubelet/scrape"
	"github.com/plimsoll-dev/plimsoll/internal/collect/podusage"
	"github.com/plimsoll-dev/plimsoll/internal/kube/slim"
	"github.com/plimsoll-dev/plimsoll/internal/kube/token"
)

// Where resource metrics come from.
const (
	sourceAuto    = "auto"
	sourceKubelet = "kubelet"
	sourceAPI     = "api"
)

var sources = []string{sourceAuto, sourceKubelet, sourceAPI}

// kubeletFlags are the flags about reading kubelets.
type kubeletFlags struct {
	source        string
	interval      time.Duration
	maxPerSecond  float64
	maxCPU        float64
	maxConcurrent int
	// account is the service account, as NAMESPACE/NAME, whose token kubelets are sent.
	account string
	options kubelet.Options
}

// defaultKubeletAccount is that of config/.
const defaultKubeletAccount = "plimsoll-system/plimsoll-kubelet-reader"

func (f *kubeletFlags) add(fs *pflag.FlagSet) {
	f.options = kubelet.DefaultOptions()
	o := &f.options
	fs.StringVar(&f.source, "resource-metrics-source", sourceAuto,
		"Where CPU and memory come from: kubelet, each second from the kubelets of the nodes that run pods of autoscaled targets; api, from "+
			"metrics.k8s.io; auto, from the kubelets where Plimsoll may list and watch nodes, and --kubelet-service-account get nodes/metrics. "+
			"metrics.k8s.io stands in for kubelets that cannot be read. With --shadow auto means api.")
	fs.DurationVar(&f.interval, "kubelet-scrape-interval", scrape.DefaultPeriod, "How often each kubelet is asked.")
	fs.Float64Var(&f.maxPerSecond, "kubelet-max-scrapes-per-second", scrape.DefaultMaxPerSecond,
		"How many kubelets are asked in a second at most. Beyond it each is asked less often, those of targets near a change first.")
	fs.Float64Var(&f.maxCPU, "kubelet-max-cpu", scrape.DefaultMaxCPU,
		"How much of its own CPU Plimsoll spends at most on reading and parsing the answers of kubelets, in cores. Beyond it each is asked "+
			"less often, those of targets near a change first.")
	fs.IntVar(&f.maxConcurrent, "kubelet-max-concurrent-scrapes", scrape.DefaultMaxConcurrent,
		"How many kubelets are asked at a time at most. Beside them three times as many may be under way that have taken longer than 250 ms.")
	fs.StringSliceVar(&o.PreferredAddressTypes, "kubelet-preferred-address-types", o.PreferredAddressTypes,
		"The priority of node address types to use when determining which address to use to connect to a particular node.")
	fs.BoolVar(&o.UseNodeStatusPort, "kubelet-use-node-status-port", o.UseNodeStatusPort,
		"Use the port in the node status. Takes precedence over --kubelet-port.")
	fs.IntVar(&o.Port, "kubelet-port", o.Port, "The port to use to connect to kubelets.")
	fs.BoolVar(&o.InsecureTLS, "kubelet-insecure-tls", false,
		"Do not verify the certificates of kubelets. Whoever answers is believed, and is sent the token.")
	fs.StringVar(&o.CertificateAuthority, "kubelet-certificate-authority", "",
		"Path to the CA that the certificates of kubelets are verified with, read anew as it changes. Without it, the API server's.")
	fs.StringVar(&f.account, "kubelet-service-account", defaultKubeletAccount,
		"The service account, as NAMESPACE/NAME, whose token kubelets are sent; the API server issues it for an hour at a time. It should have "+
			"no right but to get nodes/metrics: whoever has a node has the token. Empty for none.")
	fs.StringVar(&o.TokenFile, "kubelet-token-file", "",
		"Path to a token for kubelets, read anew as it changes, instead of one of --kubelet-service-account.")
	fs.StringVar(&o.ClientCertificate, "kubelet-client-certificate", "", "Path to a client certificate for kubelets, instead of any token.")
	fs.StringVar(&o.ClientKey, "kubelet-client-key", "", "Path to the key of the client certificate for kubelets.")
	fs.DurationVar(&o.RequestTimeout, "kubelet-request-timeout", o.RequestTimeout, "How long a kubelet may take to answer.")
	fs.BoolVar(&o.DisableCompression, "kubelet-disable-compression", false,
		"Ask kubelets for uncompressed answers: less CPU on both sides, ten times the traffic.")
}

func (f *kubeletFlags) validate(check func(fine bool, flag string, value any, want string)) {
	check(slices.Contains(sources, f.source), "resource-metrics-source", f.source, "must be "+strings.Join(sources, ", "))
	_, _, err := f.reader()
	check(err == nil, "kubelet-service-account", f.account, fmt.Sprint(err))
	check(f.interval > 0, "kubelet-scrape-interval", f.interval, "must be greater than 0")
	check(f.maxPerSecond > 0, "kubelet-max-scrapes-per-second", f.maxPerSecond, "must be greater than 0")
	check(f.maxCPU > 0 && !math.IsInf(f.maxCPU, 1), "kubelet-max-cpu", f.maxCPU, "must be a number of cores greater than 0")
	check(f.maxConcurrent > 0, "kubelet-max-concurrent-scrapes", f.maxConcurrent, "must be greater than 0")
}

// reader is the service account whose token kubelets are sent; empty for none.
func (f *kubeletFlags) reader() (namespace, name string, err error) {
	if f.account == "" {
		return "", "", nil
	}
	namespace, name, _ = strings.Cut(f.account, "/")
	if namespace == "" || name == "" || strings.Contains(name, "/") {
		return "", "", errors.New("must be NAMESPACE/NAME, or empty")
	}
	return namespace, name, nil
}

// issueTokens lets all clients of kubelets share one token.
func (f *kubeletFlags) issueTokens(client kubernetes.Interface) error {
	namespace, name, err := f.reader()
	if err != nil || name == "" {
		return err
	}
	f.options.Tokens, err = token.New(client.CoreV1().ServiceAccounts(namespace), namespace, name)
	return err
}

// access asks for the rights that reading kubelets takes.
func (f *kubeletFlags) access(config *rest.Config, client kubernetes.Interface) func(context.Context) (string, error) {
	own := client.AuthorizationV1().SelfSubjectAccessReviews()
	tokens := f.options.Authentication()
	if tokens == nil {
		// The API server need not know who a client certificate of kubelets is.
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

// readerReviews asks as whom the kubelets see. An API server that does not know the token
// knows another one, where the account was made anew under its name.
type readerReviews struct {
	podusage.Reviews
	refused func()
}

// Create implements resource.Reviews.
func (r *readerReviews) Create(
	ctx context.Context, review *authorizationv1.SelfSubjectAccessReview, options metav1.CreateOptions,
) (*authorizationv1.SelfSubjectAccessReview, error) {
	answer, err := r.Reviews.Create(ctx, review, options)
	if apierrors.IsUnauthorized(err) {
		r.refused()
	}
	return answer, err
}

// reads reports whether kubelets may be read at all.
func (f *kubeletFlags) reads(shadow bool) bool {
	return f.source == sourceKubelet || f.source == sourceAuto && !shadow
}

// newDirect reads the kubelets.
func newDirect(config *rest.Config, client kubernetes.Interface, f *kubeletFlags, log logr.Logger) (*podusage.Source, error) {
	return newDirectFor(config, client, f, ctrlmetrics.Registry, log)
}

// newDirectFor reads the kubelets and tells the registerer about it.
func newDirectFor(
	config *rest.Config, client kubernetes.Interface, f *kubeletFlags, registerer prometheus.Registerer, log logr.Logger,
) (*podusage.Source, error) {
	kubelets, err := kubelet.NewClient(config, f.options, log)
	if err != nil {
		return nil, err
	}
	cfg := podusage.Config{
		Scraper: func(store *rate.Store) (podusage.Scraper, error) { return kubelet.NewScraper(kubelets, store) },
		Target:  f.options.Target,
		Nodes: func() cache.SharedIndexInformer {
			factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(slim.Transform))
			return factory.Core().V1().Nodes().Informer()
		},
		Rounds:     scrape.Config{Period: f.interval, MaxPerSecond: f.maxPerSecond, MaxCPU: f.maxCPU, MaxConcurrent: f.maxConcurrent},
		Registerer: registerer,
		Log:        log,
	}
	if f.source == sourceAuto {
		cfg.Access = f.access(config, client)
	}
	return podusage.New(cfg)
}
