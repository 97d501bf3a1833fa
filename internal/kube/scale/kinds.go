package scale

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"
)

const (
	// longestWait is how long a call waits for a discovery that another call began.
	longestWait = 15 * time.Second
	// rediscoverAfter is the pause after a failed discovery.
	rediscoverAfter = time.Second
)

// ErrUnknown is returned if the group of a kind could not be discovered, so that it is unknown whether the kind is
// served.
var ErrUnknown = errors.New("not discovered")

// Discovery is the part of a discovery client that a Mapper uses.
type Discovery interface {
	ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error)
}

// Mapper maps kinds to the resources that serve them, from discovery. It is safe for concurrent use.
//
// Discovery runs in the background. A caller waits for it only if the cached result lacks the kind. A kind of a group
// that could not be discovered is an error other than that of a missing kind.
type Mapper struct {
	discover Discovery

	// mu guards the following.
	mu sync.Mutex
	// known is the result of the last discovery; nil before the first.
	known *served
	// isOld is true if another discovery is due, tried is the end of the last one.
	isOld bool
	tried time.Time
	// running is closed at the end of the running discovery; nil without one.
	running chan struct{}
}

// served is the result of one discovery. It is immutable.
type served struct {
	meta.RESTMapper
	groups map[string]*restmapper.APIGroupResources
	// failed has the errors of groups that could not be discovered, and err is the error if none could.
	failed map[string]error
	err    error
}

var _ meta.ResettableRESTMapper = (*Mapper)(nil)

// NewMapper makes a Mapper. It makes no request before the first Start or the first kind.
func NewMapper(discover Discovery) *Mapper { return &Mapper{discover: discover, isOld: true} }

// Start begins a discovery if one is due. It does not wait for it.
func (m *Mapper) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.startLocked()
}

// Reset implements meta.ResettableRESTMapper: the cached result stays in use, and the next call
// begins another discovery.
func (m *Mapper) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.isOld = true
}

func (m *Mapper) startLocked() {
	hasFailed := m.known != nil && m.known.err != nil
	if m.running != nil || !m.isOld && !hasFailed || hasFailed && time.Since(m.tried) < rediscoverAfter {
		return
	}
	m.isOld, m.running = false, make(chan struct{})
	go m.run(m.known, m.running)
}

func (m *Mapper) run(before *served, done chan struct{}) {
	now := discovered(m.discover, before)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known, m.tried, m.running = now, time.Now(), nil
	close(done)
}

// discovered makes a discovery. Groups that fail keep their last result.
func discovered(discover Discovery, before *served) *served {
	groups, lists, err := discover.ServerGroupsAndResources()
	s := &served{groups: map[string]*restmapper.APIGroupResources{}, failed: map[string]error{}}
	if groups == nil && before != nil {
		s.groups = before.groups
	}
	for _, group := range groups {
		s.groups[group.Name] = &restmapper.APIGroupResources{
			Group: *group, VersionedResources: map[string][]metav1.APIResource{},
		}
	}
	for _, list := range lists {
		version, parseErr := schema.ParseGroupVersion(list.GroupVersion)
		if group := s.groups[version.Group]; parseErr == nil && group != nil {
			group.VersionedResources[version.Version] = list.APIResources
		}
	}
	var partly *discovery.ErrGroupDiscoveryFailed
	if !errors.As(err, &partly) {
		s.err = err
	} else {
		for version, why := range partly.Groups {
			s.failed[version.Group] = why
			s.keep(version, before)
		}
	}
	all := make([]*restmapper.APIGroupResources, 0, len(s.groups))
	for _, group := range s.groups {
		all = append(all, group)
	}
	s.RESTMapper = restmapper.NewDiscoveryRESTMapper(all)
	return s
}

// keep copies the last result of a version.
func (s *served) keep(version schema.GroupVersion, before *served) {
	group := s.groups[version.Group]
	if before == nil || group == nil || before.groups[version.Group] == nil {
		return
	}
	resources, known := before.groups[version.Group].VersionedResources[version.Version]
	if !known {
		return
	}
	group.VersionedResources[version.Version] = resources
	// Aggregated discovery does not even name a version that is stale.
	isIt := func(v metav1.GroupVersionForDiscovery) bool { return v.Version == version.Version }
	if !slices.ContainsFunc(group.Group.Versions, isIt) {
		group.Group.Versions = append(group.Group.Versions,
			metav1.GroupVersionForDiscovery{GroupVersion: version.String(), Version: version.Version})
	}
}

// current returns the last result. If isNewest is set, or without a result yet, it waits for a discovery that is
// running or due.
func (m *Mapper) current(isNewest bool) *served {
	m.mu.Lock()
	m.startLocked()
	known, running := m.known, m.running
	m.mu.Unlock()
	if running == nil || known != nil && !isNewest {
		return known
	}
	timeout := time.NewTimer(longestWait)
	defer timeout.Stop()
	select {
	case <-running:
	case <-timeout.C:
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		return &served{
			RESTMapper: restmapper.NewDiscoveryRESTMapper(nil), err: fmt.Errorf("no answer within %s", longestWait),
		}
	}
	return m.known
}

// unknown is ErrUnknown with upstream's text, which conditions repeat: that there is no match, or that nothing could be
// discovered.
type unknown struct{ shown, why error }

// Error implements error.
func (u unknown) Error() string { return u.shown.Error() }

// Unwrap leaves out the missing match, which is unknown.
func (u unknown) Unwrap() []error { return []error{ErrUnknown, u.why} }

// find looks a kind up in the cached result, and then in a new one if that is due.
func find[T any](m *Mapper, group string, in func(meta.RESTMapper) (T, error)) (T, error) {
	known := m.current(false)
	found, err := in(known)
	if meta.IsNoMatchError(err) {
		if newest := m.current(true); newest != known {
			known = newest
			found, err = in(known)
		}
	}
	switch why := known.failed[group]; {
	case !meta.IsNoMatchError(err):
	case known.err != nil:
		err = unknown{shown: known.err, why: known.err}
	case why != nil:
		err = unknown{shown: err, why: why}
	}
	return found, err
}

// KindFor implements meta.RESTMapper.
func (m *Mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return find(m, resource.Group,
		func(in meta.RESTMapper) (schema.GroupVersionKind, error) { return in.KindFor(resource) })
}

// KindsFor implements meta.RESTMapper.
func (m *Mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return find(m, resource.Group,
		func(in meta.RESTMapper) ([]schema.GroupVersionKind, error) { return in.KindsFor(resource) })
}

// ResourceFor implements meta.RESTMapper.
func (m *Mapper) ResourceFor(resource schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return find(m, resource.Group,
		func(in meta.RESTMapper) (schema.GroupVersionResource, error) { return in.ResourceFor(resource) })
}

// ResourcesFor implements meta.RESTMapper.
func (m *Mapper) ResourcesFor(resource schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return find(m, resource.Group,
		func(in meta.RESTMapper) ([]schema.GroupVersionResource, error) { return in.ResourcesFor(resource) })
}

// RESTMapping implements meta.RESTMapper.
func (m *Mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return find(m, kind.Group, func(in meta.RESTMapper) (*meta.RESTMapping, error) {
		return in.RESTMapping(kind,
			versions...)
	})
}

// RESTMappings implements meta.RESTMapper.
func (m *Mapper) RESTMappings(kind schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return find(m, kind.Group, func(in meta.RESTMapper) ([]*meta.RESTMapping, error) {
		return in.RESTMappings(kind,
			versions...)
	})
}

// ResourceSingularizer implements meta.RESTMapper.
func (m *Mapper) ResourceSingularizer(resource string) (string, error) {
	return m.current(false).ResourceSingularizer(resource)
}
