package events

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
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

// Messages are bounded: errors may quote a tenant's text, and the API server takes 1.5 MB.
func TestLongMessages(t *testing.T) {
	recorded := record.NewFakeRecorder(2)
	recorder, object := bounded{recorded}, &corev1.Pod{}
	for name, long := range map[string]string{
		"ASCII": strings.Repeat("x", 700_000), "two bytes": strings.Repeat("ä", 700_000),
		"at the bound": strings.Repeat("x", maxMessage),
	} {
		recorder.Event(object, corev1.EventTypeWarning, "Failed", long)
		recorder.Eventf(object, corev1.EventTypeWarning, "Failed", "%s", long)
		for range 2 {
			message := strings.TrimPrefix(<-recorded.Events, "Warning Failed ")
			isCut := strings.HasSuffix(message, "…")
			isWhole := utf8.ValidString(message) && len(message) >= maxMessage-4
			if len(message) > maxMessage || !isWhole || isCut != (len(long) > maxMessage) {
				t.Errorf("%s: %d bytes, cut: %t", name, len(message), isCut)
			}
		}
	}
	if short := "%d of 3"; Cut(short) != short {
		t.Errorf("%q", Cut(short))
	}
}
