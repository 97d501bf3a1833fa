package sources

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// PodEndpoint is a metric that each of the target's pods exposes, or each of some other pods.
type PodEndpoint struct {
	// Pods are the pods that expose it.
	Pods PodSet
	// PortName is the name of a container port; empty if Port is its number.
	PortName string
	Port     uint16
	// Path begins with a slash, and may have a query.
	Path string
	// IsTLS reports that the scheme is HTTPS.
	IsTLS       bool
	TLS         TLS
	Credentials Credentials
	// Metric and Selector select the series of a page, whose values become one by Aggregate. So do those of pods that are
	// not the target's.
	Metric    string
	Selector  Selector
	Aggregate Aggregate
	// IsRate reports that the metric is a counter.
	IsRate bool
	// IsNullZero reports that a page without the metric counts as 0.
	IsNullZero bool
	// Timeout bounds one request, and Window is the window of averages.
	Timeout, Window time.Duration
}

// PodEndpointOf converts the metric's source.
func PodEndpointOf(m *plimsollv1alpha1.PodEndpointMetricSource) (PodEndpoint, error) {
	p := PodEndpoint{
		Path: m.Path, TLS: TLSOf(m.TLSConfig), Credentials: credentialsOf(m.Authorization, m.BasicAuth),
		Metric: m.Metric.Name,
	}
	if p.Path == "" {
		p.Path = plimsollv1alpha1.DefaultPath
	}
	if !isMetricName(p.Metric) {
		return PodEndpoint{}, fmt.Errorf("metric.name: %q is no name of a metric in Prometheus' formats", p.Metric)
	}
	const longestTimeout, longestWindow = 30, 300
	var err error
	p.Timeout, err = secondsOf("timeoutSeconds", m.TimeoutSeconds, plimsollv1alpha1.DefaultPodTimeoutSeconds,
		longestTimeout)
	if err != nil {
		return PodEndpoint{}, err
	}
	p.Window, err = secondsOf("windowSeconds", m.WindowSeconds, plimsollv1alpha1.DefaultPodWindowSeconds, longestWindow)
	if err != nil {
		return PodEndpoint{}, err
	}
	if p.PortName, p.Port, err = portOf(m.Port); err != nil {
		return PodEndpoint{}, err
	}
	if p.IsNullZero, err = isNullZero(m.NullValues); err != nil {
		return PodEndpoint{}, err
	}
	switch m.Scheme {
	case "", plimsollv1alpha1.HTTPScheme:
	case plimsollv1alpha1.HTTPSScheme:
		p.IsTLS = true
	default:
		return PodEndpoint{}, fmt.Errorf("scheme: %q is neither HTTP nor HTTPS", m.Scheme)
	}
	switch m.ValueType {
	case plimsollv1alpha1.GaugeValueType:
	case plimsollv1alpha1.RateValueType:
		p.IsRate = true
	default:
		return PodEndpoint{}, fmt.Errorf("valueType: %q is neither Gauge nor Rate", m.ValueType)
	}
	if err = p.setPods(m); err != nil {
		return PodEndpoint{}, err
	}
	if p.Selector, err = SelectorOf(m.Metric.Selector.AsLabelSelector()); err != nil {
		return PodEndpoint{}, fmt.Errorf("%w: %w", errSelector, err)
	}
	return p, nil
}

// isMetricName reports whether the name has letters, digits, _ and : only, and does not begin with a digit.
func isMetricName(name string) bool {
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == ':':
		case c >= '0' && c <= '9' && i > 0:
		default:
			return false
		}
	}
	return name != ""
}

func portOf(port intstr.IntOrString) (name string, number uint16, err error) {
	switch {
	case port.Type == intstr.String && port.StrVal != "":
		return port.StrVal, 0, nil
	case port.Type == intstr.Int && port.IntVal >= 1 && port.IntVal <= math.MaxUint16:
		return "", uint16(port.IntVal), nil
	default:
		return "", 0, fmt.Errorf("port: %s: %w: 1 to 65535, or the name of a container port", port.String(), errRange)
	}
}

func (p *PodEndpoint) identity() string {
	return identity(append([]string{"PodEndpoint", p.PortName, strconv.Itoa(int(p.Port)), p.Path,
		strconv.FormatBool(p.IsTLS), p.Metric, p.Selector.text, strconv.FormatBool(p.IsRate)}, p.podsIdentity()...)...)
}

// Page returns the location of the metric's page, without the metric. It is comparable.
func (p *PodEndpoint) Page() PodEndpoint {
	return PodEndpoint{
		Pods: p.Pods, PortName: p.PortName, Port: p.Port, Path: p.Path, IsTLS: p.IsTLS, TLS: p.TLS,
		Credentials: p.Credentials, Timeout: p.Timeout,
	}
}

// MaxPages is the maximum number of pages that an object's metrics may be on. Each is requested every second, from each
// pod that has it.
const MaxPages = 10

// CheckPages refuses the first metric that is on one page too many.
func CheckPages(specs []Spec, path *field.Path) field.ErrorList {
	pages := map[PodEndpoint]struct{}{}
	var refused *field.Path
	for i, spec := range specs {
		if spec.PodEndpoint == nil {
			continue
		}
		if pages[spec.PodEndpoint.Page()] = struct{}{}; refused == nil && len(pages) > MaxPages {
			refused = path.Index(i).Child("podEndpoint")
		}
	}
	if refused == nil {
		return nil
	}
	return field.ErrorList{field.Invalid(refused, field.OmitValueType{}, fmt.Sprintf(
		"the metrics of type PodEndpoint are on %d pages, which differ in podSelector, service, port, path, scheme, "+
			"credentials, tlsConfig or timeoutSeconds: at most %d", len(pages), MaxPages))}
}
