// Package admission is the command plimsoll admission-controller: its flags, and what they
// mean.
package admission

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/admit"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/conflict"
	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/observe/vertical/validation"
	"github.com/plimsoll-dev/plimsoll/internal/process"
	"github.com/plimsoll-dev/plimsoll/internal/process/admission"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/certificate"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

// Flags are the flags of plimsoll admission-controller: those of
// upstream's by its names and, but for the timeout, its defaults, and Plimsoll's
// own.
type Flags struct {
	common     flags.Common
	qps, burst float64
	address    string
	profiling  bool

	port          int
	files         certificate.Paths
	reload        bool
	secret        string
	lifetime      time.Duration
	minTLSVersion string
	ciphers       string
	// clientAuthority is the CA of client certificates; empty if clients need none.
	clientAuthority string

	register            bool
	byURL               bool
	webhookAddress      string
	webhookPort         string
	service             string
	timeoutSeconds      int
	fails               bool
	labels              string
	only                string
	ignored             string
	leaseName           string
	leaseNamespace      string
	leaseUpdateInterval time.Duration

	maxBoost    resource.QuantityValue
	gates       map[string]string
	features    validation.Features
	divergences string
	differs     divergence.Set
	conflict    conflict.Mode

	// namespace is the server's own, of the environment.
	namespace string
}

// defaultTimeoutSeconds is how long the API server waits: upstream's 30 s hold up
// every pod of the cluster while the server is away.
const defaultTimeoutSeconds = 5

// Add adds them.
func (f *Flags) Add(fs *pflag.FlagSet) {
	f.addCertificates(fs)
	f.addRegistration(fs)
	f.common.Add(fs, "Verbosity of the log: 0 logs errors, 1 each pod that is patched.")
	f.common.AddLogFormat(fs)
	fs.Float64Var(&f.qps, "kube-api-qps", 50,
		"QPS to use while talking with the API server; reviews of pods never wait for it.")
	fs.Float64Var(&f.burst, "kube-api-burst", 100, "Burst to use while talking with the API server.")
	fs.StringVar(&f.address, "address", ":8944", "The address of /metrics, /healthz and /readyz.")
	fs.BoolVar(&f.profiling, "profiling", false,
		"Serve /debug/pprof at --address, only to connections from the pod itself, such as those of kubectl port-forward.")
	fs.IntVar(&f.port, "port", 8000, "The port of the admission server.")
	fs.StringVar(&f.only, "vpa-object-namespace", "",
		"The one namespace of pods and objects that are admitted with recommendations; without it, all.")
	fs.StringVar(&f.ignored, "ignored-vpa-object-namespaces", "",
		"Comma-separated namespaces whose pods and objects are ignored.")
	fs.Var(&f.maxBoost, "max-allowed-cpu-boost", "The maximum CPU request of a container during its start-up boost.")
	fs.StringToStringVar(&f.gates, "feature-gates", nil,
		"Upstream's feature gates, comma-separated: CPUStartupBoost, InPlace, PerVPAConfig, each =true or =false. All are "+
			"off by default.")
	fs.StringVar(&f.divergences, "divergences", "default",
		"Differences from upstream's vertical autoscaler that are in force: default, none, or comma-separated names "+
			"(docs/reference/divergences.md).")
	flags.AddDivergences(fs, "divergences", divergence.All())
	fs.StringVar((*string)(&f.conflict), "vertical-conflict", conflict.Skip.String(),
		"What the recommender and the updater do with a resource that a HorizontalPodAutoscaler has a Utilization target "+
			"on: skip or allow. Admission warnings mention it.")
	flags.AddValues(fs, "vertical-conflict", flags.Values{All: []string{conflict.Skip.String(), conflict.Allow.String()}})
	flags.AddIgnored(fs, pflag.NewFlagSet("", pflag.ContinueOnError))
}

func (f *Flags) addCertificates(fs *pflag.FlagSet) {
	fs.StringVar(&f.files.Authority, "client-ca-file", "/etc/tls-certs/caCert.pem",
		"The CA that signed the server's certificate.")
	fs.StringVar(&f.files.Certificate, "tls-cert-file", "/etc/tls-certs/serverCert.pem",
		"The file of the server's certificate.")
	fs.StringVar(&f.files.Key, "tls-private-key", "/etc/tls-certs/serverKey.pem", "The file of its key.")
	fs.BoolVar(&f.reload, "reload-cert", false, "Reload these files when they change.")
	fs.StringVar(&f.secret, "webhook-cert-secret", "",
		"Create certificates and keep them in the Secret of this name, in the server's namespace, instead of those files. "+
			"All replicas share it.")
	fs.DurationVar(&f.lifetime, "webhook-cert-lifetime", 90*24*time.Hour,
		"How long a certificate in --webhook-cert-secret is valid. It is renewed before it expires.")
	fs.StringVar(&f.clientAuthority, "webhook-client-ca-file", "",
		"The CA of the API server's client certificate, if its AdmissionConfiguration names one; other clients are then "+
			"rejected. The CA should sign nothing else. Without this flag, any client that knows the path is answered.")
	fs.StringVar(&f.minTLSVersion, "min-tls-version", "tls1_2", "The minimum TLS version: tls1_2 or tls1_3.")
	flags.AddValues(fs, "min-tls-version", flags.Values{All: []string{"tls1_2", "tls1_3"}})
	fs.StringVar(&f.ciphers, "tls-ciphers", "",
		"The cipher suites of TLS 1.2, separated by commas or colons; without it, Go's defaults.")
}

func (f *Flags) addRegistration(fs *pflag.FlagSet) {
	fs.BoolVar(&f.register, "register-webhook", true,
		"Register with the API server: update the MutatingWebhookConfiguration, or create it if the permissions allow that.")
	fs.BoolVar(&f.byURL, "register-by-url", false,
		"Register by --webhook-address and --webhook-port rather than by a Service.")
	fs.StringVar(&f.webhookAddress, "webhook-address", "",
		"Where the server is, as https://HOST; with --register-by-url.")
	fs.StringVar(&f.webhookPort, "webhook-port", "", "The port of --webhook-address; with --register-by-url.")
	fs.StringVar(&f.service, "webhook-service", "vpa-webhook", "The Service of the admission server.")
	fs.IntVar(&f.timeoutSeconds, "webhook-timeout-seconds", defaultTimeoutSeconds,
		"How long the API server waits for a response before it admits the pod unchanged; upstream's default is 30.")
	fs.BoolVar(&f.fails, "webhook-failure-policy-fail", false,
		"Reject new pods while the admission server does not respond. Use with caution.")
	fs.StringVar(&f.labels, "webhook-labels", "",
		"Labels of the MutatingWebhookConfiguration, as key1:value1,key2:value2.")
	fs.StringVar(&f.leaseName, "status-lease-name", "vpa-admission-controller",
		"The Lease by which the updater knows that the admission server runs.")
	fs.StringVar(&f.leaseNamespace, "status-lease-namespace", "",
		"The namespace of the Lease; without it, the environment variable NAMESPACE, or kube-system.")
	fs.DurationVar(&f.leaseUpdateInterval, "status-lease-update-interval", 10*time.Second,
		"How often the Lease is renewed. It must be well below the updater's --admission-controller-status-lease-timeout.")
}

// ownNamespace is the server's namespace if the environment does not have it.
const ownNamespace = "kube-system"

// Complete reads what flags and environment mean, and names every flag that has a
// value which cannot work.
func (f *Flags) Complete() error {
	var errs flags.Errors
	check := errs.Check
	f.namespace = os.Getenv("NAMESPACE")
	if f.namespace == "" {
		f.namespace = ownNamespace
	}
	if f.leaseNamespace == "" {
		f.leaseNamespace = f.namespace
	}
	check(f.qps > 0 && f.burst >= 1, "kube-api-qps", f.qps, "must be greater than 0, as must --kube-api-burst")
	f.common.Validate(check)
	check(f.port >= 0 && f.port < 1<<16, "port", f.port, "must be a port")
	check(f.only == "" || f.ignored == "", "vpa-object-namespace", f.only,
		"cannot be used together with --ignored-vpa-object-namespaces")
	check(f.secret == "" || f.lifetime >= time.Second, "webhook-cert-lifetime", f.lifetime, "must be at least a second")
	check(f.minTLSVersion == "" || f.minTLSVersion == "tls1_2" || f.minTLSVersion == "tls1_3",
		"min-tls-version", f.minTLSVersion, "must be tls1_2 or tls1_3")
	check(f.timeoutSeconds >= 1 && f.timeoutSeconds <= 30, "webhook-timeout-seconds", f.timeoutSeconds,
		"must be from 1 to 30")
	check(f.leaseUpdateInterval > 0, "status-lease-update-interval", f.leaseUpdateInterval, "must be greater than 0")
	check(f.leaseName != "", "status-lease-name", f.leaseName, "must not be empty")
	check(f.conflict.IsValid(), "vertical-conflict", f.conflict, "must be skip or allow")
	check(f.maxBoost.Sign() >= 0, "max-allowed-cpu-boost", f.maxBoost.String(), "must not be negative")
	_, err := f.webhookURL()
	check(!f.byURL || err == nil, "webhook-address", f.webhookAddress, fmt.Sprint(err))
	_, err = parseLabels(f.labels)
	check(err == nil, "webhook-labels", f.labels, fmt.Sprint(err))
	f.features, err = flags.ParseGates(f.gates)
	check(err == nil, "feature-gates", f.gates, fmt.Sprint(err))
	f.differs, err = divergence.Parse(f.divergences)
	check(err == nil, "divergences", f.divergences, fmt.Sprint(err))
	return errs.Join()
}

// webhookURL returns the address of the server without a Service.
func (f *Flags) webhookURL() (*url.URL, error) {
	where, err := url.Parse(f.webhookAddress + ":" + f.webhookPort)
	if err != nil {
		return nil, err
	}
	if where.Scheme != "https" || where.Hostname() == "" {
		return nil, errors.New("must be https://HOST")
	}
	return where, nil
}

// names returns the host names by which the API server calls the server.
func (f *Flags) names() []string {
	if where, err := f.webhookURL(); f.byURL && err == nil {
		return []string{where.Hostname()}
	}
	return []string{f.service + "." + f.namespace + ".svc", f.service + "." + f.namespace + ".svc.cluster.local"}
}

func (f *Flags) ignoredNamespaces() []string {
	return strings.FieldsFunc(f.ignored, func(r rune) bool { return r == ',' || r == ' ' })
}

// parseLabels reads upstream's form of labels.
func parseLabels(text string) (map[string]string, error) {
	labels := map[string]string{}
	for pair := range strings.SplitSeq(strings.Trim(text, `"`), ",") {
		if strings.TrimSpace(pair) == "" && text == "" {
			continue
		}
		key, value, found := strings.Cut(pair, ":")
		if key = strings.TrimSpace(key); !found || key == "" {
			return nil, errors.New("must be key1:value1,key2:value2")
		}
		labels[key] = strings.TrimSpace(value)
	}
	return labels, nil
}

// tlsConfig returns the settings of upstream's TLS flags.
func tlsConfig(minVersion, ciphers string) *tls.Config {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if minVersion == "tls1_3" {
		config.MinVersion = tls.VersionTLS13
	}
	wanted := strings.FieldsFunc(ciphers, func(r rune) bool { return r == ',' || r == ':' })
	for _, suite := range tls.CipherSuites() {
		if slices.Contains(wanted, suite.Name) {
			config.CipherSuites = append(config.CipherSuites, suite.ID)
		}
	}
	return config
}

// Config returns the server's configuration from the flags, which must be complete.
func (f *Flags) Config() *admission.Config {
	cfg := &admission.Config{
		API:     process.API{Kubeconfig: f.common.Kubeconfig, QPS: float32(f.qps), Burst: int(f.burst)},
		Address: f.address, Profiling: f.profiling,
		Port: f.port, TLS: tlsConfig(f.minTLSVersion, f.ciphers),
		Namespace: f.namespace,
		Certificates: admission.Certificates{
			Files: f.files, Reload: f.reload, Secret: f.secret, Names: f.names(), Lifetime: f.lifetime,
			ClientAuthority: f.clientAuthority,
		},
		Registration: upkeep.Registration{
			Namespace: f.namespace, Service: f.service,
			TimeoutSeconds: int32(f.timeoutSeconds), //gosec:disable G115 -- at most 30
			Fails:          f.fails, Only: f.only, Ignored: f.ignoredNamespaces(),
		},
		Registers: f.register,
		Lease:     admission.Lease{Name: f.leaseName, Namespace: f.leaseNamespace, Interval: f.leaseUpdateInterval},
		Options: admit.Options{
			Boosts: f.features.CPUStartupBoost, MaxBoostMilli: vertical.Amount(f.maxBoost.MilliValue()), Divergences: f.differs,
		},
		Features: f.features, Conflict: f.conflict,
	}
	// Complete has checked both.
	cfg.Registration.Labels, _ = parseLabels(f.labels)
	if where, err := f.webhookURL(); f.byURL && err == nil {
		cfg.Registration.URL = where.String()
	}
	return cfg
}
