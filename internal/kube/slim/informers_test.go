package slim

import (
	"testing"

	"k8s.io/client-go/kubernetes/fake"
)

// Pods are held as the transform makes them, and found by their names alone.
func TestInformersOfPods(t *testing.T) {
	factory := NewInformers(fake.NewClientset(typical(1), typical(2)), Horizontal)
	pods := factory.Core().V1().Pods().Informer()
	factory.Start(t.Context().Done())
	t.Cleanup(factory.Shutdown)
	factory.WaitForCacheSync(t.Context().Done())
	object, known, err := pods.GetStore().GetByKey("shop/" + typical(2).Name)
	if pod := Observed(object); err != nil || !known || !pod.IsSame(Observed(typical(2))) {
		t.Errorf("%+v, %t, %v", object, known, err)
	}
	if n := len(pods.GetStore().ListKeys()); n != 2 {
		t.Errorf("%d pods", n)
	}
	if indexers := pods.GetIndexer().GetIndexers(); len(indexers) > 0 {
		t.Errorf("indexes %v", indexers)
	}
}
