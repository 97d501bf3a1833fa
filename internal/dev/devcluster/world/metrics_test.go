package world

import (
	"net/netip"
	"testing"
	"time"
)

var podAddress = netip.MustParseAddr("127.128.0.7")

// measured is a pod that serves metrics, beside one that does not.
func (s *still) measured(t *testing.T) {
	t.Helper()
	s.setService(testService("web", load("60")))
	for _, name := range []string{"a", "b"} {
		pod := testPod(name, true)
		pod.Status.PodIP = podAddress.String()
		if name == "a" {
			pod.Annotations[AnnotationMetrics] = "true"
		}
		s.setPod(pod)
	}
}

// TestCountersGrowBetweenSteps: a reader's moments are not the model's.
func TestCountersGrowBetweenSteps(t *testing.T) {
	s := newStill(t)
	s.measured(t)
	if _, found := s.metrics(podAddress, s.now); found {
		t.Error("there are counters before the first step")
	}
	s.pass(time.Second)
	last := -1.0
	for read := range 100 {
		now := epoch.Add(time.Second + time.Duration(read)*70*time.Millisecond)
		for !now.Before(s.now.Add(time.Second)) {
			s.pass(time.Second)
		}
		c, found := s.metrics(podAddress, now)
		if !found || c.ServedTotal < last {
			t.Fatalf("%s: %+v, %t after %v", now, c, found, last)
		}
		last = c.ServedTotal
		// A reading has the state of a step ago.
		near(t, "requests", c.ServedTotal, 30*now.Add(-time.Second).Sub(epoch).Seconds())
		near(t, "CPU", c.CPUSeconds, c.ServedTotal*0.01)
	}
	// The model does not move on: neither do its counters.
	before, _ := s.metrics(podAddress, s.now.Add(time.Second))
	after, _ := s.metrics(podAddress, s.now.Add(time.Minute))
	near(t, "requests", after.ServedTotal, before.ServedTotal)
}

func TestAddressesOfPods(t *testing.T) {
	s := newStill(t)
	s.measured(t)
	s.pass(time.Second)
	if c, found := s.metrics(podAddress, s.now); !found || !c.Began.Equal(epoch) {
		t.Errorf("%+v, %t", c, found)
	}
	// Another pod gets the address before the end of the first has arrived.
	next := testPod("c", true)
	next.Annotations[AnnotationMetrics], next.Status.PodIP = "true", podAddress.String()
	s.setPod(next)
	s.deletePod(testPod("a", true))
	s.pass(time.Second)
	if _, found := s.metrics(podAddress, s.now); !found {
		t.Error("the address of the second pod went with the first")
	}
	without := testPod("c", true)
	without.Status.PodIP = podAddress.String()
	s.setPod(without)
	if _, found := s.metrics(podAddress, s.now); found {
		t.Error("a pod that stopped serving metrics has metrics")
	}
	if _, found := s.metrics(netip.Addr{}, s.now); found {
		t.Error("no address has metrics")
	}
}
