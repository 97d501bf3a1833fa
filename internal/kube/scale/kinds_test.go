package scale

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// cluster serves these groups, each with a kind Till in v1; those that fail are listed, and their resources are
// unknown.
type cluster struct {
	groups []string
	fails  map[string]error
	err    error
	takes  time.Duration
	asked  int
	// aggregated is discovery in one call, as since Kubernetes 1.27: a group that fails is only listed by name.
	aggregated bool
}

// ServerGroupsAndResources implements Discovery.
func (c *cluster) ServerGroupsAndResources() (groups []*metav1.APIGroup, lists []*metav1.APIResourceList, err error) {
	c.asked++
	time.Sleep(c.takes) //nolint:forbidigo // virtual time: what discovery takes
	if c.err != nil {
		return nil, nil, c.err
	}
	failed := map[schema.GroupVersion]error{}
	for _, name := range c.groups {
		version := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		group := &metav1.APIGroup{Name: name}
		groups = append(groups, group)
		if c.fails[name] == nil || !c.aggregated {
			group.Versions, group.PreferredVersion = []metav1.GroupVersionForDiscovery{version}, version
		}
		if why := c.fails[name]; why != nil {
			failed[schema.GroupVersion{Group: name, Version: "v1"}] = why
			continue
		}
		lists = append(lists, &metav1.APIResourceList{GroupVersion: name +
			"/v1", APIResources: []metav1.APIResource{{Name: "tills", Kind: "Till", Namespaced: true}}})
	}
	if len(failed) > 0 {
		err = &discovery.ErrGroupDiscoveryFailed{Groups: failed}
	}
	return groups, lists, err
}

func till(group string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: "Till"} }

// TestGroupThatCannotBeDiscovered: it is unknown whether it has the kind; for a group that responds, or does not exist,
// it is known. The text is the same.
func TestGroupThatCannotBeDiscovered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		down := errors.New("the server is currently unable to handle the request")
		c := &cluster{groups: []string{"a", "b"}, fails: map[string]error{"b": down}}
		m := NewMapper(c)
		if _, err := m.RESTMappings(till("a")); err != nil {
			t.Error(err)
		}
		_, err := m.RESTMappings(till("b"))
		if meta.IsNoMatchError(err) || !errors.Is(err, ErrUnknown) || !errors.Is(err, down) {
			t.Errorf("a kind of a group that cannot be discovered: %v", err)
		}
		if want := (&meta.NoKindMatchError{GroupKind: till("b")}).Error(); err == nil || err.Error() != want {
			t.Errorf("%v, want the text %q", err, want)
		}
		for _, kind := range []schema.GroupKind{till("c"), {Group: "a", Kind: "None"}} {
			if _, err := m.RESTMappings(kind); !meta.IsNoMatchError(err) || errors.Is(err, ErrUnknown) {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

// TestLastDiscoveryStays: the last result is used while a group, or everything, cannot be discovered.
func TestLastDiscoveryStays(t *testing.T) {
	for _, aggregated := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { whatWasKnownServesOn(t, aggregated) })
	}
}

func whatWasKnownServesOn(t *testing.T, aggregated bool) {
	down := errors.New("the server is currently unable to handle the request")
	c := &cluster{groups: []string{"a", "b"}, fails: map[string]error{"b": down}, aggregated: aggregated}
	m := NewMapper(c)
	m.Start()
	synctest.Wait()
	c.fails = nil
	m.Reset()
	if _, err := m.RESTMappings(till("b")); err != nil {
		t.Errorf("discovered again: %v", err)
	}
	c.fails, c.err = map[string]error{"b": down}, nil
	for range 2 {
		m.Reset()
		m.Start()
		synctest.Wait()
		for _, group := range c.groups {
			if _, err := m.RESTMappings(till(group)); err != nil {
				t.Errorf("what was known of %s: %v", group, err)
			}
		}
		c.err = down
	}
	if _, err := m.RESTMappings(till("c")); meta.IsNoMatchError(err) || !errors.Is(err, ErrUnknown) {
		t.Errorf("while nothing can be discovered: %v", err)
	}
}

// TestDiscoveryThatHangs: cached kinds are returned at once; for others callers wait, for a bounded time, and all for
// the same discovery.
func TestDiscoveryThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{groups: []string{"a"}, takes: 10 * time.Second}
		m := NewMapper(c)
		m.Start()
		took := func(kind schema.GroupKind) time.Duration {
			began := time.Now()
			_, _ = m.RESTMappings(kind)
			return time.Since(began)
		}
		if got := took(till("a")); got != c.takes {
			t.Errorf("the first one takes %s", got)
		}
		m.Reset()
		for range 100 {
			if got := took(till("a")); got != 0 {
				t.Errorf("a known kind takes %s", got)
			}
		}
		if got := took(till("c")); got != c.takes {
			t.Errorf("a kind that is not known takes %s", got)
		}
		if got := took(till("c")); got != 0 || c.asked != 2 {
			t.Errorf("the next one takes %s; %d discoveries", got, c.asked)
		}
		c.takes = time.Hour
		m.Reset()
		if got := took(till("c")); got != longestWait {
			t.Errorf("an endless discovery is waited for %s", got)
		}
		time.Sleep(c.takes) //nolint:forbidigo // virtual time: it ends
	})
}

// TestFailedDiscoveryIsTriedAgain: but not by each caller.
func TestFailedDiscoveryIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &cluster{groups: []string{"a"}, err: errors.New("down")}
		m := NewMapper(c)
		for range 100 {
			if _, err := m.RESTMappings(till("a")); !errors.Is(err, ErrUnknown) {
				t.Errorf("%v", err)
			}
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // virtual time
		}
		if c.asked < 9 || c.asked > 11 {
			t.Errorf("%d discoveries in 10 s", c.asked)
		}
		c.err = nil
		time.Sleep(rediscoverAfter) //nolint:forbidigo // virtual time
		if _, err := m.RESTMappings(till("a")); err != nil {
			t.Error(err)
		}
	})
}
