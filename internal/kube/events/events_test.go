package events

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
)

// A failure every second uses up its own reason's allowance only.
func TestOneReasonDoesNotSilenceAnother(t *testing.T) {
	client := fake.NewClientset()
	recorder, stop := Start(t.Context(), client)
	defer stop()
	object := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1"}}
	seen := func(reason string) bool {
		list, err := client.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range list.Items {
			if event.Reason == reason && event.Source.Component == Component {
				return true
			}
		}
		return false
	}
	for i := range 40 {
		recorder.Event(object, corev1.EventTypeWarning, "FailedGetExternalMetric", "the database is gone")
		recorder.Event(object, corev1.EventTypeWarning, fmt.Sprintf("Other%d", i), "something else")
	}
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 30*time.Second, true,
		func(context.Context) (bool, error) {
			return seen("FailedGetExternalMetric") && seen("Other39"), nil
		})
	if err != nil {
		t.Error(err)
	}
}
