package harness

import (
	"context"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/watch"
)

// follower hands each version of a Deployment, in their order, to a function.
type follower struct {
	namespace  *Namespace
	deployment string
	see        func(*appsv1.Deployment) // called under mu

	mu   sync.Mutex
	last string // guarded by mu; the last resource version
	err  error  // guarded by mu; why versions may be missing
}

// follow begins with the version that is stored now, and ends with the test. The Deployment must exist.
func (s *Namespace) follow(deployment string, see func(*appsv1.Deployment)) *follower {
	s.t.Helper()
	f := &follower{namespace: s, deployment: deployment, see: see}
	watcher, err := f.begin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	go f.run(s.t.Context(), watcher)
	return f
}

// begin passes on the stored objects and watches them.
func (f *follower) begin(ctx context.Context) (watch.Interface, error) {
	client := f.namespace.Client.AppsV1().Deployments(f.namespace.Name)
	selector := fields.OneTermEqualSelector(metav1.ObjectNameField, f.deployment).String()
	list, err := client.List(ctx, metav1.ListOptions{FieldSelector: selector})
	if err != nil {
		return nil, err
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("no Deployment %s/%s", f.namespace.Name, f.deployment)
	}
	f.add(&list.Items[0])
	// Without a version the watch may begin with what was before.
	return client.Watch(ctx, metav1.ListOptions{FieldSelector: selector, ResourceVersion: list.ResourceVersion})
}

func (f *follower) run(ctx context.Context, watcher watch.Interface) {
	for {
		err := f.drain(watcher)
		watcher.Stop()
		// An API server that has just started keeps no changes from before, not even those since the list.
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			if watcher, err = f.begin(ctx); err == nil {
				continue
			}
		}
		f.end(fmt.Errorf("the watch of Deployment %s ended: %w", f.deployment, err))
		return
	}
}

func (f *follower) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// drain returns why the watch has ended.
func (f *follower) drain(watcher watch.Interface) error {
	for event := range watcher.ResultChan() {
		deployment, ok := event.Object.(*appsv1.Deployment)
		if !ok {
			return apierrors.FromObject(event.Object)
		}
		f.add(deployment)
	}
	return fmt.Errorf("the API server closed it")
}

func (f *follower) add(deployment *appsv1.Deployment) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last = deployment.ResourceVersion
	f.see(deployment)
}

// caughtUp waits until the stored versions have arrived: a watch may be later than a read. An error means that versions
// may be missing.
func (f *follower) caughtUp() error {
	ctx, cancel := context.WithTimeout(f.namespace.t.Context(), Long)
	defer cancel()
	stored, err := f.namespace.Client.AppsV1().Deployments(f.namespace.Name).Get(ctx, f.deployment, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // nothing is written to it any more
	}
	if err != nil {
		return err
	}
	reached := f.namespace.each(ctx, func() bool { return f.hasSeen(stored.ResourceVersion) })
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && !reached {
		return fmt.Errorf("the watch of Deployment %s has not come to version %s within %s: it is at %s",
			f.deployment, stored.ResourceVersion, Long, f.last)
	}
	return f.err
}

// hasSeen also returns true if no more versions will arrive.
func (f *follower) hasSeen(version string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(f.last, version)
	if err != nil && f.err == nil {
		f.err = err
	}
	return f.err != nil || order >= 0
}
