package telemetry

import (
	"net/netip"
	"sync"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/podmetrics"
)

// pages are the pages of their own metrics that the pods served.
type pages struct {
	mu    sync.Mutex
	count int64    // guarded by mu
	given []givens // guarded by mu: the last that the pods of each object gave
}

// appendPage appends the page of the pod with an address. Its requests are in proportion to its CPU, so that they swing
// as that does.
func (m *model) appendPage(page []byte, address netip.Addr) ([]byte, bool) {
	place, found := m.Size.FindAddress(address)
	if !found {
		return page, false
	}
	const requestsPerCPUSecond = population.RequestsPerSecond /
		(population.RequestCPUMilli * population.TargetUtilizationPercent / 100 / 1000.0)
	used := m.usedSeconds(place, time.Now())
	return podmetrics.AppendPage(page, podmetrics.Values{
		ServedTotal: used * requestsPerCPUSecond, CPUSeconds: used, MemoryBytes: MemoryBytes, Began: m.Began,
	}), true
}

// read notes a page that a pod gave.
func (s *Server) read(address netip.Addr) {
	place, found := s.model.Size.FindAddress(address)
	if !found {
		return
	}
	now := time.Now()
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	s.pages.count++
	s.pages.given[place.Object] = s.pages.given[place.Object].with(given{sampled: now, at: now})
}

// PodMetricsPort is the port of the pods' own metrics, each on its address.
func (s *Server) PodMetricsPort() int { return s.pods.Port() }

// Pages returns the number of pages that the pods have served.
func (s *Server) Pages() int64 {
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	return s.pages.count
}

// PagesOf returns the time of the newest page that one of an object's pods had served before t; false if none had.
// Those of its other pods are unknown.
func (s *Server) PagesOf(object int, t time.Time) (times SampleTimes, found bool) {
	s.pages.mu.Lock()
	defer s.pages.mu.Unlock()
	times.Newest, found = s.pages.given[object].before(t)
	return times, found
}
