// Package cluster reads and writes the objects of a migration, with the permissions of
// its user.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/kube/wla"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
)

var (
	hpas          = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	scaledObjects = schema.GroupVersionResource{Group: "keda.sh", Version: "v1alpha1", Resource: keda.Resource}
	// authentications is the resource of KEDA's TriggerAuthentications, clusterAuthentications that of the cluster-wide
	// ones.
	authentications = schema.GroupVersionResource{
		Group: "keda.sh", Version: "v1alpha1", Resource: keda.AuthenticationResource}
	clusterAuthentications = schema.GroupVersionResource{
		Group: "keda.sh", Version: "v1alpha1", Resource: keda.ClusterAuthenticationResource}
)

// timeout bounds one call.
const timeout = 10 * time.Second

// pageSize is the number of objects in a page of a list.
const pageSize = 500

// Client calls the API server.
type Client struct {
	dynamic dynamic.Interface
	wla     *wla.Client
	access  kubernetes.Interface
}

// New returns a Client; it makes no call.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = "plimsoll-migrate"
	// A user waits for the responses.
	config.QPS = -1
	config.Timeout = timeout
	// The API server's warnings are about the conversion, not about the user's input.
	config.WarningHandler = rest.NoWarnings{}
	c := &Client{}
	var err error
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if c.wla, err = wla.New(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if c.access, err = kubernetes.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return c, nil
}

// Served reports whether the API server serves WorkloadAutoscalers.
func (c *Client) Served(ctx context.Context) (bool, error) { return c.wla.Served(ctx) }

// CreateWorkloadAutoscaler implements steps.Cluster.
func (c *Client) CreateWorkloadAutoscaler(ctx context.Context, w *plimsollv1alpha1.WorkloadAutoscaler) error {
	_, err := c.wla.WorkloadAutoscalers(w.Namespace).Create(ctx, w, metav1.CreateOptions{FieldValidation: "Strict"})
	return err
}

// operation is an operation of a JSON patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// SetMode implements steps.Cluster. It fails if the spec or the mark has changed. The status may change: Plimsoll's
// controller writes it repeatedly, and nothing depends on it.
func (c *Client) SetMode(
	ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler, mode plimsollv1alpha1.Mode, migrating string,
) error {
	mark := "/metadata/annotations/" + strings.ReplaceAll(convert.Migrating, "/", "~1")
	operations := []operation{
		{"test", "/metadata/uid", read.UID}, {"test", "/metadata/generation", read.Generation},
	}
	before, isMarked := read.Annotations[convert.Migrating]
	if isMarked {
		operations = append(operations, operation{"test", mark, before})
	}
	operations = append(operations, operation{"add", "/spec/mode", mode})
	switch {
	case migrating != "":
		operations = append(operations, operation{"add", mark, migrating})
	case isMarked:
		operations = append(operations, operation{Op: "remove", Path: mark})
	}
	patch, err := json.Marshal(operations)
	if err != nil {
		return err
	}
	_, err = c.wla.WorkloadAutoscalers(read.Namespace).Patch(ctx, read.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{})
	if isTestFailed(err) {
		resource := plimsollv1alpha1.SchemeGroupVersion.WithResource(plimsollv1alpha1.WorkloadAutoscalers)
		return apierrors.NewConflict(resource.GroupResource(), read.Name, err)
	}
	return err
}

// isTestFailed reports whether a JSON patch does not fit the object. The error about an invalid object has causes.
func isTestFailed(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return false
	}
	details := status.Status().Details
	return details == nil || len(details.Causes) == 0
}

// DeleteWorkloadAutoscaler implements steps.Cluster.
func (c *Client) DeleteWorkloadAutoscaler(ctx context.Context, read *plimsollv1alpha1.WorkloadAutoscaler) error {
	return c.wla.WorkloadAutoscalers(read.Namespace).Delete(ctx, read.Name, asRead(read))
}
