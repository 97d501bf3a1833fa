package nodeagent

import (
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
)

const (
	// cpuGap is the age at which a sample of CPU is taken again. Closer samples are useless, as the error of their times
	// is too large.
	cpuGap = 100 * time.Millisecond
	// memoryGap is that of memory, CFS periods and pressure. Reading memory costs about seven times as much as reading
	// CPU, as the kernel sums it up for each reader. A client that polls each second is sometimes a little early.
	memoryGap = 900 * time.Millisecond
	// searchGap is the pause before another search for a missing container, and maxSearches the number of searches in one
	// request: a search costs most of all.
	searchGap   = time.Second
	maxSearches = 256
	// idleAfter is the time from the last request to closing all files.
	idleAfter = 10 * time.Second
)

// usage is the usage of one container. Missing values are unknown.
type usage struct {
	cpuAt, memoryAt, began time.Time
	cpuNanos, memoryBytes  int64
	hasCPU, hasMemory      bool
}

// counted is a requested container.
type counted struct {
	// container is nil while it is missing; searched is the time of the last search.
	container *cgroup.Container
	searched  time.Time
	asked     time.Time
	last      usage
	stalls    stalls
}

// stalls are the counters of CPU throttling and pressure of a container.
type stalls struct {
	at            time.Time
	throttling    cgroup.Throttling
	pressure      time.Duration
	hasThrottling bool
	hasPressure   bool
}

// samples reads containers, none more often than is useful.
type samples struct {
	tree *cgroup.Tree
	log  logr.Logger

	// mu guards the following.
	mu         sync.Mutex
	buffer     cgroup.Buffer
	containers map[cgroup.Name]*counted
	idle       *time.Timer
	searches   int
}

func newSamples(tree *cgroup.Tree, log logr.Logger) *samples {
	return &samples{tree: tree, log: log, containers: map[cgroup.Name]*counted{}}
}

func (s *samples) usages(wanted []selection.Container, dst []usage) []usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.restLocked()
	for i := range wanted {
		c := s.findLocked(&wanted[i])
		if c == nil || !s.readUsageLocked(c, &wanted[i]) {
			dst = append(dst, usage{})
			continue
		}
		dst = append(dst, c.last)
	}
	return dst
}

// stalls appends the counters of each container.
func (s *samples) stalls(wanted []selection.Container, dst []stalls) []stalls {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.restLocked()
	for i := range wanted {
		c := s.findLocked(&wanted[i])
		if c == nil || !s.readStallsLocked(c, &wanted[i]) {
			dst = append(dst, stalls{})
			continue
		}
		dst = append(dst, c.stalls)
	}
	return dst
}

// findLocked returns the container, with its files open; nil if it is missing.
func (s *samples) findLocked(wanted *selection.Container) *counted {
	now := time.Now()
	name := cgroup.Name{PodUID: wanted.PodUID, ID: wanted.ID}
	c := s.containers[name]
	if c == nil {
		c = &counted{}
		s.containers[name] = c
	}
	c.asked = now
	if c.container != nil {
		return c
	}
	if s.searches >= maxSearches || !c.searched.IsZero() && now.Sub(c.searched) < searchGap {
		return nil
	}
	s.searches++
	c.searched = now
	container, err := s.tree.Container(name)
	if err != nil {
		s.missing(wanted, err)
		return nil
	}
	c.container, c.last, c.stalls = container, usage{began: container.Began()}, stalls{}
	return c
}

// readUsageLocked takes samples that are due; false if the container is gone.
func (s *samples) readUsageLocked(c *counted, wanted *selection.Container) bool {
	if now := time.Now(); !c.last.hasCPU || now.Sub(c.last.cpuAt) >= cpuGap {
		nanos, err := c.container.CPUNanos(&s.buffer)
		if s.isGoneLocked(c, wanted, err) {
			return false
		}
		c.last.cpuNanos, c.last.cpuAt, c.last.hasCPU = nanos, now, err == nil
	}
	if now := time.Now(); !c.last.hasMemory || now.Sub(c.last.memoryAt) >= memoryGap {
		bytes, err := c.container.WorkingSetBytes(&s.buffer)
		if s.isGoneLocked(c, wanted, err) {
			return false
		}
		c.last.memoryBytes, c.last.memoryAt, c.last.hasMemory = bytes, now, err == nil
	}
	return true
}

func (s *samples) readStallsLocked(c *counted, wanted *selection.Container) bool {
	now := time.Now()
	if !c.stalls.at.IsZero() && now.Sub(c.stalls.at) < memoryGap {
		return true
	}
	throttling, hasThrottling, err := c.container.Throttling(&s.buffer)
	if s.isGoneLocked(c, wanted, err) {
		return false
	}
	pressure, hasPressure, err := c.container.CPUPressure(&s.buffer)
	if s.isGoneLocked(c, wanted, err) {
		return false
	}
	c.stalls = stalls{at: now, throttling: throttling, hasThrottling: hasThrottling, pressure: pressure,
		hasPressure: hasPressure}
	return true
}

// isGoneLocked records that a container is gone, or that it could not be read.
func (s *samples) isGoneLocked(c *counted, wanted *selection.Container, err error) bool {
	if err == nil {
		return false
	}
	s.missing(wanted, err)
	if !errors.Is(err, cgroup.ErrNotFound) {
		return false
	}
	// A restarted container has another ID, so this one needs no immediate search.
	_ = c.container.Close()
	c.container, c.searched, c.last, c.stalls = nil, time.Now(), usage{}, stalls{}
	return true
}

func (s *samples) missing(wanted *selection.Container, err error) {
	s.log.V(1).Info("a container cannot be read", "namespace", wanted.Namespace, "pod", wanted.Pod,
		"container", wanted.Name, "err", err.Error())
}

// restLocked ends a request: files of containers that are no longer requested are closed some time later.
func (s *samples) restLocked() {
	s.searches = 0
	if s.idle == nil {
		s.idle = time.AfterFunc(idleAfter, s.sweep)
	}
}

// sweep closes the files of containers that were not requested lately.
func (s *samples) sweep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for name, c := range s.containers {
		if now.Sub(c.asked) < idleAfter {
			continue
		}
		if c.container != nil {
			_ = c.container.Close()
		}
		delete(s.containers, name)
	}
	s.idle = nil
	if len(s.containers) > 0 {
		s.idle = time.AfterFunc(idleAfter, s.sweep)
	}
}
