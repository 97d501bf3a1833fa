// Package events records events on objects.
package events

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
)

// Component is the source in upstream's events too, so that tools that filter by it keep working.
const Component = "horizontal-pod-autoscaler"

// Start returns a recorder of the component Component whose events go to the API server until the returned function is
// called.
func Start(ctx context.Context, client kubernetes.Interface) (record.EventRecorder, func()) {
	return StartFor(ctx, client, Component, kinds)
}

// kinds has the kinds of autoscalers.
var kinds = func() *runtime.Scheme {
	kinds := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(kinds))
	utilruntime.Must(plimsollv1alpha1.AddToScheme(kinds))
	return kinds
}()

// StartFor is Start for another source, about objects of the scheme's kinds.
func StartFor(
	ctx context.Context, client kubernetes.Interface, component string, kinds *runtime.Scheme,
) (record.EventRecorder, func()) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx),
		record.WithCorrelatorOptions(record.CorrelatorOptions{SpamKeyFunc: spamKey}))
	broadcaster.StartRecordingToSink(&corev1client.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(kinds, corev1.EventSource{Component: component})
	return bounded{recorder}, broadcaster.Shutdown
}

// maxMessage bounds a message to the length of the newer events.k8s.io. The API server takes 1.5 MB of these events,
// and an error may quote a tenant's text.
const maxMessage = 1024

// Cut returns the message, shortened to the maximum of an event.
func Cut(message string) string {
	const rest = "…"
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(rest)], "") + rest
}

// bounded shortens messages. AnnotatedEventf is unused.
type bounded struct{ record.EventRecorder }

// Event implements record.EventRecorder.
func (b bounded) Event(object runtime.Object, kind, reason, message string) {
	b.EventRecorder.Event(object, kind, reason, Cut(message))
}

// Eventf implements record.EventRecorder.
func (b bounded) Eventf(object runtime.Object, kind, reason, format string, args ...any) {
	b.Event(object, kind, reason, fmt.Sprintf(format, args...))
}

// spamKey groups the events that share an allowance, 25 and one more every five minutes. client-go's own key leaves out
// the reason: a metric that fails every second uses up the allowance, and hides all other events about the object.
func spamKey(event *corev1.Event) string {
	object := &event.InvolvedObject
	return strings.Join([]string{object.Kind, object.Namespace, object.Name, string(object.UID), event.Type, event.Reason},
		"/")
}
