package scale

import (
	"context"
	"errors"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	scaleclient "k8s.io/client-go/scale"
)

// unversioned is an API whose one scale has no resource version: each write is accepted.
type unversioned struct {
	scaleclient.ScaleInterface
	uid    types.UID
	count  int32
	writes int
}

// Scales implements scaleclient.ScalesGetter.
func (u *unversioned) Scales(string) scaleclient.ScaleInterface { return u }

// Get implements scaleclient.ScaleInterface.
func (u *unversioned) Get(
	context.Context, schema.GroupResource, string, metav1.GetOptions,
) (*autoscalingv1.Scale, error) {
	return &autoscalingv1.Scale{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: u.uid},
		Spec:       autoscalingv1.ScaleSpec{Replicas: u.count},
	}, nil
}

// Update implements scaleclient.ScaleInterface.
func (u *unversioned) Update(
	_ context.Context, _ schema.GroupResource, s *autoscalingv1.Scale, _ metav1.UpdateOptions,
) (*autoscalingv1.Scale, error) {
	u.count, u.writes = s.Spec.Replicas, u.writes+1
	return s, nil
}

// TestScaleWithoutResourceVersion: only its replica count shows that another writer has scaled it since it was read.
// That replica count stays, and is returned.
func TestScaleWithoutResourceVersion(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*unversioned)
		want   int32
		err    error
	}{
		"no other writer":          {func(*unversioned) {}, 8, nil},
		"another writer":           {func(u *unversioned) { u.count = 6 }, 6, ErrMoved},
		"another one of this name": {func(u *unversioned) { u.uid = "new" }, 4, ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			u := &unversioned{uid: "old", count: 4}
			c, err := New(Config{Scales: u, Mapper: meta.NewDefaultRESTMapper(nil)})
			if err != nil {
				t.Fatal(err)
			}
			kept, err := u.Get(t.Context(), schema.GroupResource{}, "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			tt.change(u)
			now, err := c.Write(t.Context(), Target{Scale: kept}, 8, func() error { return nil })
			if !errors.Is(err, tt.err) || u.count != tt.want || now == nil || now.Spec.Replicas != tt.want || u.writes > 1 {
				t.Errorf("%v; %d replicas after %d writes, returned %v; want %d", err, u.count, u.writes, now, tt.want)
			}
		})
	}
}
