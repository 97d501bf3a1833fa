package sources

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// Prometheus is the result of a query.
type Prometheus struct {
	// Address is the server's URL, without a slash at its end.
	Address     string
	TLS         TLS
	Credentials Credentials
	Query       string
	// Tenant is the value of the header TenantHeader; empty for no such header.
	Tenant, TenantHeader string
	// Namespace is the query parameter of that name; empty for none. Parameters is a query string with others.
	Namespace, Parameters string
	Interval, Timeout     time.Duration
	// IsNullZero reports that no result, NaN and the infinities count as 0.
	IsNullZero bool
}

// PrometheusOf converts the metric's source.
func PrometheusOf(m *plimsollv1alpha1.PrometheusMetricSource) (Prometheus, error) {
	const longestInterval, longestTimeout = 300, 30
	p := Prometheus{
		Address: strings.TrimRight(m.ServerAddress, "/"), TLS: TLSOf(m.TLSConfig),
		Credentials: credentialsOf(m.Authorization, m.BasicAuth), Query: m.Query,
		Namespace: m.NamespaceParameter, Parameters: m.QueryParameters,
	}
	if t := m.Tenant; t != nil {
		p.Tenant, p.TenantHeader = t.ID, string(cmp.Or(t.Header, plimsollv1alpha1.ScopeOrgIDTenantHeader))
	}
	switch {
	case !strings.HasPrefix(p.Address, "http://") && !strings.HasPrefix(p.Address, "https://"):
		return Prometheus{}, fmt.Errorf("serverAddress: %q is not an http or https URL", m.ServerAddress)
	case p.Query == "":
		return Prometheus{}, fmt.Errorf("query: %w", errAbsent)
	}
	var err error
	if p.IsNullZero, err = isNullZero(m.NullValues); err != nil {
		return Prometheus{}, err
	}
	p.Interval, err = secondsOf("intervalSeconds", m.IntervalSeconds, plimsollv1alpha1.DefaultIntervalSeconds,
		longestInterval)
	if err != nil {
		return Prometheus{}, err
	}
	p.Timeout, err = secondsOf("timeoutSeconds", m.TimeoutSeconds, plimsollv1alpha1.DefaultTimeoutSeconds, longestTimeout)
	if err != nil {
		return Prometheus{}, err
	}
	return p, nil
}

func (p *Prometheus) identity() string {
	values := []string{"Prometheus", p.Address, p.Query, p.Tenant, p.TenantHeader, p.Namespace}
	if p.Parameters != "" {
		values = append(values, p.Parameters)
	}
	return identity(values...)
}
