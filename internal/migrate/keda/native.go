package keda

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/utils/ptr"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/observe/horizontal/sources"
	"github.com/plimsoll-dev/plimsoll/internal/scaledobject"
)

// The bounds of a WorkloadAutoscaler's fields.
const (
	maxQuery           = 4096
	maxTimeout         = 30 * time.Second
	maxInterval        = 300
	maxMetadata        = 64
	maxMetadataKey     = 253
	maxMetadataValue   = 4096
	defaultPolling     = 30
	defaultInterval    = 5
	defaultHTTPPort    = "80"
	defaultHTTPSPort   = "443"
	secretHosts        = "plimsoll.dev/metric-hosts"
	serverPermission   = "--metric-server"
	metadataFieldOfEnv = "FromEnv"
)

// reader converts a trigger to a metric that Plimsoll reads itself.
type reader struct {
	*conversion

	// at is the path of the trigger.
	at      string
	trigger *scaledobject.Trigger
	// lacks is the number of fields that a metric of type Prometheus lacks; lacking is the last of them, and instead the
	// reason to use KEDA's scaler.
	lacks            int
	lacking, instead string
}

// native converts a trigger to a metric that Plimsoll reads itself.
func (c *conversion) native(at string, i int, t *scaledobject.Trigger) {
	r := reader{conversion: c, at: at, trigger: t}
	switch t.Type {
	case scaledobject.TypePrometheus:
		r.prometheusOrScaler(i)
	case scaledobject.TypeExternal, scaledobject.TypeExternalPush:
		r.externalScaler(i)
	default:
		if !slices.Contains(scaledobject.Types, t.Type) {
			c.loseType(at, t)
			return
		}
		r.scaler(i)
	}
}

// ignoredOfPrometheus has the fields of a prometheus trigger's metadata that this package reads, or that KEDA does not
// read.
var ignoredOfPrometheus = []string{
	"serverAddress", "query", "threshold", "activationThreshold", "namespace", "ignoreNullValues", "unsafeSsl", "timeout",
	"customHeaders", "authModes", "authMode", "metricName",
}

func (r *reader) prometheus() {
	target, why := externalTarget(r.trigger)
	if why != "" {
		r.Lose(r.at, "%s: %s", r.trigger.Type, why)
		return
	}
	server, err := serverOf(r.trigger.Metadata["serverAddress"])
	if errors.Is(err, errAddress) {
		r.lack(r.at+".metadata.serverAddress", "%v", err)
		return
	}
	if err != nil {
		r.Lose(r.at+".metadata.serverAddress", "%v", err)
		return
	}
	p := &plimsollv1alpha1.PrometheusMetricSource{
		ServerAddress: server.String(), Query: strings.TrimSpace(r.trigger.Metadata["query"]),
		NamespaceParameter: r.trigger.Metadata["namespace"], IntervalSeconds: r.interval(), Target: target,
	}
	if r.isSet("ignoreNullValues", true) {
		// KEDA's default, which differs from that of a WorkloadAutoscaler.
		p.NullValues = plimsollv1alpha1.NullValuesZero
	}
	if p.Query == "" || utf8.RuneCountInString(p.Query) > maxQuery {
		r.Lose(r.at+".metadata.query", "a query has 1 to %d characters", maxQuery)
		return
	}
	r.timeout(p)
	r.tenant(p)
	if r.isSet("unsafeSsl", false) {
		if server.Scheme == "https" {
			p.TLSConfig = &plimsollv1alpha1.TLSConfig{InsecureSkipVerify: true}
		} else {
			r.Note(r.at+".metadata.unsafeSsl", "no effect: the server is requested over http")
		}
	}
	if !r.IsWithoutCredentials {
		r.credentials(p, server)
	}
	for _, key := range slices.Sorted(maps.Keys(r.trigger.Metadata)) {
		if !slices.Contains(ignoredOfPrometheus, key) {
			r.lack(r.at+".metadata."+key, "a metric of type Prometheus has nothing for it")
		}
	}
	m := plimsollv1alpha1.MetricSpec{Type: plimsollv1alpha1.PrometheusMetricSourceType, Prometheus: p}
	r.activation(r.at, r.trigger, &m)
	r.out().Metrics = append(r.out().Metrics, m)
	r.noteServer(r.at+".metadata.serverAddress", hostPort(server))
}

// prometheusOrScaler converts to a metric of type Prometheus, unless that lacks something which KEDA's scaler has.
func (r *reader) prometheusOrScaler(i int) {
	findings, metrics, losses := r.Findings, r.out().Metrics, r.Losses()
	r.Findings = slices.Clone(findings)
	r.prometheus()
	if r.lacking == "" || r.Losses()-losses > r.lacks {
		return // KEDA's scaler would convert nothing more.
	}
	r.Findings, r.out().Metrics = findings, metrics
	r.Note(r.lacking, "%s, so KEDA's scaler is used", r.instead)
	r.scaler(i)
}

// lack records a field that a metric of type Prometheus lacks, and KEDA's scaler has.
func (r *reader) lack(field, format string, args ...any) {
	r.Lose(field, format, args...)
	r.lacking, r.instead = field, "a metric of type Prometheus lacks this"
	r.lacks++
}

// errAddress is the error about an address that KEDA's scaler accepts and a WorkloadAutoscaler does not.
var errAddress = errors.New("an address has no user, query or fragment here")

// serverOf parses the address of a server for a WorkloadAutoscaler.
func serverOf(text string) (*url.URL, error) {
	server, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q is not a URL", text)
	case server.Scheme != "http" && server.Scheme != "https", server.Hostname() == "":
		return nil, fmt.Errorf("%q is not an http or https URL", text)
	case server.User != nil, server.RawQuery != "", server.ForceQuery, server.Fragment != "":
		return nil, errAddress
	}
	return server, nil
}

// hostPort returns the name of the server in the annotation of a Secret and in the flag for servers.
func hostPort(server *url.URL) string {
	switch {
	case server.Port() != "":
		return server.Host
	case server.Scheme == "https":
		return server.Host + ":" + defaultHTTPSPort
	}
	return server.Host + ":" + defaultHTTPPort
}

// noteServer notes the requirements of a server in another namespace, or of one whose name has another meaning in the
// controller's namespace.
func (r *reader) noteServer(field, address string) {
	host := address[:max(0, strings.LastIndexByte(address, ':'))]
	labels := strings.Split(host, ".")
	switch {
	case len(labels) == 1 && !strings.HasPrefix(host, "["):
		r.Note(field, "%s is now a Service of the ScaledObject's namespace; KEDA looked for it in its own", host)
	case len(labels) > 1 && labels[1] == r.object.GetNamespace() && isService(labels[2:]):
	default:
		r.Note(field, "%s is in another namespace or outside of the cluster: Plimsoll's controller needs %s=%s",
			host, serverPermission, address)
	}
}

// isService reports whether the labels after the namespace are those of a Service's name.
func isService(labels []string) bool { return len(labels) == 0 || labels[0] == "svc" }

// interval returns the time between two queries; nil for the default.
func (r *reader) interval() *int32 {
	polling := ptr.Deref(r.spec.PollingInterval, defaultPolling)
	if r.trigger.UseCachedMetrics {
		if polling > maxInterval {
			r.Note(r.at+".useCachedMetrics", "the server is polled every %d s, not every %d s", maxInterval, polling)
		}
		return ptr.To(max(1, min(polling, maxInterval)))
	}
	if polling > 0 && polling < defaultInterval {
		return &polling
	}
	return nil
}

// isSet reads a field that is true or false.
func (r *reader) isSet(key string, byDefault bool) bool {
	text := strings.TrimSpace(r.trigger.Metadata[key])
	if text == "" {
		return byDefault
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		r.Lose(r.at+".metadata."+key, "%q is neither true nor false", text)
		return byDefault
	}
	return value
}

// timeout reads a duration, or a number of milliseconds.
func (r *reader) timeout(p *plimsollv1alpha1.PrometheusMetricSource) {
	text := strings.TrimSpace(r.trigger.Metadata["timeout"])
	if text == "" {
		return
	}
	timeout, err := time.ParseDuration(text)
	if milliseconds, isNumber := strconv.ParseInt(text, 10, 32); err != nil && isNumber == nil {
		timeout, err = time.Duration(milliseconds)*time.Millisecond, nil
	}
	switch {
	case err != nil || timeout < 0:
		r.Lose(r.at+".metadata.timeout", "%q is not a duration", text)
		return
	case timeout == 0:
		return // KEDA uses its default then.
	}
	used := max(time.Second, min(maxTimeout, timeout.Round(time.Second)))
	if used != timeout {
		r.Note(r.at+".metadata.timeout", "%s becomes %s", timeout, used)
	}
	p.TimeoutSeconds = ptr.To(int32(used / time.Second))
}

// tenants has the headers of multi-tenant servers.
var tenants = map[string]plimsollv1alpha1.TenantHeader{
	strings.ToLower(string(plimsollv1alpha1.ScopeOrgIDTenantHeader)): plimsollv1alpha1.ScopeOrgIDTenantHeader,
	strings.ToLower(string(plimsollv1alpha1.ThanosTenantHeader)):     plimsollv1alpha1.ThanosTenantHeader,
}

// tenant parses headers in the form name=value,name=value. A WorkloadAutoscaler supports only the one of a tenant.
func (r *reader) tenant(p *plimsollv1alpha1.PrometheusMetricSource) {
	text := strings.TrimSpace(r.trigger.Metadata["customHeaders"])
	if text == "" {
		return
	}
	for header := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(header, "=")
		name = strings.TrimSpace(name)
		known, isTenant := tenants[strings.ToLower(name)]
		if value = strings.TrimSpace(value); !isTenant || value == "" || p.Tenant != nil {
			// The value may be a secret.
			r.lack(r.at+".metadata.customHeaders", "%s: of the headers only %s or %s can be set", name,
				plimsollv1alpha1.ScopeOrgIDTenantHeader, plimsollv1alpha1.ThanosTenantHeader)
			continue
		}
		p.Tenant = &plimsollv1alpha1.Tenant{ID: value, Header: known}
	}
}

// addressOfScaler matches the addresses that a WorkloadAutoscaler accepts.
var addressOfScaler = regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]*[a-z0-9])?|\[[0-9a-fA-F:.]+\]):[0-9]{1,5}$`)

func (r *reader) externalScaler(i int) {
	address := strings.TrimSpace(r.trigger.Metadata["scalerAddress"])
	if !addressOfScaler.MatchString(address) {
		r.Lose(r.at+".metadata.scalerAddress", "%q is not a host and a port, as my-scaler:9090", address)
		return
	}
	s := plimsollv1alpha1.ExternalScalerMetricSource{
		ScalerAddress: address, IntervalSeconds: r.interval(), ScalerMetadata: r.scalerMetadata(),
		Delivery: plimsollv1alpha1.PollDelivery,
	}
	if r.trigger.Type == scaledobject.TypeExternalPush {
		s.Delivery = plimsollv1alpha1.PushDelivery
	}
	var ok bool
	if s.Target, ok = r.targetOfScaler(); !ok {
		return
	}
	if config := r.scalerTLS(address); config != nil {
		if s.Transport = plimsollv1alpha1.TLSTransport; sources.TLSOf(config) != (sources.TLS{}) {
			s.TLSConfig = config
		}
	}
	for _, name := range r.namesToSelect(i) {
		named := s
		named.MetricName = name
		r.out().Metrics = append(r.out().Metrics, plimsollv1alpha1.MetricSpec{
			Type: plimsollv1alpha1.ExternalScalerMetricSourceType, ExternalScaler: &named,
		})
	}
	r.noteServer(r.at+".metadata.scalerAddress", address)
}

// targetOfScaler returns the target of a metric whose scaler knows the value.
func (r *reader) targetOfScaler() (target *plimsollv1alpha1.ExternalScalerTarget, ok bool) {
	switch kind := plimsollv1alpha1.MetricTargetType(r.trigger.MetricType); kind {
	case "", plimsollv1alpha1.AverageValueMetricType:
		return nil, true
	case plimsollv1alpha1.ValueMetricType:
		return &plimsollv1alpha1.ExternalScalerTarget{Type: kind}, true
	default:
		r.Lose(r.at+".metricType", "%q: external metrics have AverageValue or Value", r.trigger.MetricType)
		return nil, false
	}
}

// namesToSelect returns the names of the trigger's metrics. For a single metric the name is not needed.
func (r *reader) namesToSelect(i int) []string {
	if names := r.metricNames(i); len(names) > 1 {
		return names
	}
	return []string{""}
}

// scalerMetadata returns the metadata for the scaler. The scaler gets the address from a field of its own.
func (r *reader) scalerMetadata() map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(r.trigger.Metadata)) {
		switch {
		case key == "scalerAddress":
		case strings.HasSuffix(key, metadataFieldOfEnv):
			r.Lose(r.at+".metadata."+key, "the environment of the target's containers is not read: write the value out")
		default:
			out[key] = r.trigger.Metadata[key]
		}
	}
	return r.bounded(out)
}

// bounded returns the metadata that a WorkloadAutoscaler accepts.
func (r *reader) bounded(metadata map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[key]
		if key == "" || utf8.RuneCountInString(key) > maxMetadataKey || utf8.RuneCountInString(value) > maxMetadataValue {
			r.Lose(r.at+".metadata."+key, "keys have 1 to %d characters, values at most %d", maxMetadataKey, maxMetadataValue)
			continue
		}
		out[key] = value
	}
	if len(out) > maxMetadata {
		r.Lose(r.at+".metadata", "a scaler gets at most %d entries", maxMetadata)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// metricNames returns the names that the scaler gives its metrics, as far as KEDA's status has them.
func (c *conversion) metricNames(i int) []string {
	var names []string
	for _, each := range c.status.ExternalMetricNames {
		if name, isOfTrigger := strings.CutPrefix(each, fmt.Sprintf("s%d-", i)); isOfTrigger {
			names = append(names, name)
		}
	}
	return names
}

// failureSeconds returns how long a number of failures takes, if there is one in each period.
func failureSeconds(threshold int32, period time.Duration) int32 {
	// Some users write a threshold of many digits for never.
	return int32(min(max(1, int64(threshold)*int64(period/time.Second)), math.MaxInt32))
}
