// Package exposition reads the /metrics pages of the processes that benchmarks measure.
package exposition

import (
	"context"
	"fmt"
	"io"
	"net/http"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Page is a /metrics page.
type Page map[string]*dto.MetricFamily

// Fetch reads the page of a process.
func Fetch(ctx context.Context, client *http.Client, url string) (Page, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("metrics: %s answers %s", url, response.Status)
	}
	return Parse(response.Body)
}

// Parse reads the text of a page.
func Parse(text io.Reader) (Page, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return families, nil
}

// Sum adds up all series of a counter or gauge.
func (p Page) Sum(name string) float64 {
	total := 0.0
	p.Each(name, func(_ map[string]string, value float64) { total += value })
	return total
}

// Each calls see with each series of a counter or gauge.
func (p Page) Each(name string, see func(labels map[string]string, value float64)) {
	for _, metric := range p[name].GetMetric() {
		see(labelsOf(metric), value(metric))
	}
}

// Observed returns the sum and the count of a histogram's series with a label.
func (p Page) Observed(name, label, want string) (sum, count float64) {
	for _, metric := range p[name].GetMetric() {
		if labelsOf(metric)[label] == want {
			sum += metric.GetHistogram().GetSampleSum()
			count += float64(metric.GetHistogram().GetSampleCount())
		}
	}
	return sum, count
}

func value(metric *dto.Metric) float64 {
	switch {
	case metric.Counter != nil:
		return metric.Counter.GetValue()
	case metric.Gauge != nil:
		return metric.Gauge.GetValue()
	default:
		return metric.Untyped.GetValue()
	}
}

func labelsOf(metric *dto.Metric) map[string]string {
	labels := make(map[string]string, len(metric.Label))
	for _, label := range metric.Label {
		labels[label.GetName()] = label.GetValue()
	}
	return labels
}
