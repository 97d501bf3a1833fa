package devcluster

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
)

const (
	systemNamespace      = metav1.NamespaceSystem
	resourceMetricsGroup = "metrics.k8s.io"
	customMetricsGroup   = "custom.metrics.k8s.io"
	externalMetricsGroup = "external.metrics.k8s.io"
	metricsServerUser    = "metrics-server"
)

// APIService is a version of an API group that a process on this machine serves behind the API server.
type APIService struct {
	Group, Version string
	// Port of 127.0.0.1 where it is served over TLS.
	Port int
	// CABundle verifies the server's certificate, which must be for APIServiceHost(Group).
	CABundle []byte
	// Priority orders the versions of a group: clients without a preference get the highest. 0 means 100.
	Priority int32
}

// APIServiceName is the name of the APIService object.
func APIServiceName(group, version string) string { return version + "." + group }

// APIServiceHost is the host name by which the API server verifies the certificate of the server of a group.
func APIServiceHost(group string) string { return serviceName(group) + "." + systemNamespace + ".svc" }

func serviceName(group string) string { return strings.ReplaceAll(group, ".", "-") }

// RegisterAPIService makes the API server forward a group's version to a port of this machine. The way leads through a
// Service of type ExternalName, the only kind that reaches a process outside of pods without endpoints.
func (a *access) RegisterAPIService(ctx context.Context, spec APIService) error {
	if err := a.createExternalService(ctx, serviceName(spec.Group)); err != nil {
		return fmt.Errorf("service for %s: %w", spec.Group, err)
	}
	clients, err := aggregator.NewForConfig(a.rest)
	if err != nil {
		return fmt.Errorf("client for API services: %w", err)
	}
	port := int32(spec.Port)
	object := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: APIServiceName(spec.Group, spec.Version)},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: spec.Group, Version: spec.Version, CABundle: spec.CABundle,
			GroupPriorityMinimum: 100, VersionPriority: cmp.Or(spec.Priority, 100),
			Service: &apiregistrationv1.ServiceReference{
				Namespace: systemNamespace, Name: serviceName(spec.Group), Port: &port,
			},
		},
	}
	services := clients.ApiregistrationV1().APIServices()
	_, err = services.Create(ctx, object, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		var old *apiregistrationv1.APIService
		if old, err = services.Get(ctx, object.Name, metav1.GetOptions{}); err == nil {
			object.ResourceVersion = old.ResourceVersion
			_, err = services.Update(ctx, object, metav1.UpdateOptions{})
		}
	}
	if err != nil {
		return fmt.Errorf("register %s: %w", object.Name, err)
	}
	return nil
}

// unregisterAPIService takes back what RegisterAPIService did; it is no error if there is nothing to take back.
func (a *access) unregisterAPIService(ctx context.Context, name string) error {
	clients, err := aggregator.NewForConfig(a.rest)
	if err != nil {
		return fmt.Errorf("client for API services: %w", err)
	}
	err = clients.ApiregistrationV1().APIServices().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("unregister %s: %w", name, err)
	}
	return nil
}

func (a *access) createExternalService(ctx context.Context, name string) error {
	_, err := a.client.CoreV1().Services(systemNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"},
	}, metav1.CreateOptions{})
	return ignoreExists(err)
}

// awaitAPIService waits until the API server reports an aggregated API available.
func (a *access) awaitAPIService(ctx context.Context, name string) error {
	clients, err := aggregator.NewForConfig(a.rest)
	if err != nil {
		return fmt.Errorf("client for API services: %w", err)
	}
	err = poll(ctx, func(ctx context.Context) error {
		service, err := clients.ApiregistrationV1().APIServices().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range service.Status.Conditions {
			if condition.Type == apiregistrationv1.Available && condition.Status == apiregistrationv1.ConditionTrue {
				return nil
			}
		}
		return fmt.Errorf("not available: %v", service.Status.Conditions)
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// createMetricsServerRoles grants metrics-server's user what metrics-server's own manifests grant.
func (c *components) createMetricsServerRoles(ctx context.Context) error {
	const name = "system:metrics-server"
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes/metrics"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"pods", "nodes"}, Verbs: []string{"get", "list", "watch"}},
	}
	rbac := c.client.RbacV1()
	_, err := rbac.ClusterRoles().Create(ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules,
	}, metav1.CreateOptions{})
	if ignoreExists(err) != nil {
		return fmt.Errorf("role %s: %w", name, err)
	}
	for _, role := range []string{name, "system:auth-delegator"} {
		if err := c.bindClusterRole(ctx, metricsServerUser, role); err != nil {
			return err
		}
	}
	return c.bindAuthReader(ctx, metricsServerUser)
}

// bindClusterRole gives a user a cluster role.
func (a *access) bindClusterRole(ctx context.Context, user, role string) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + ":" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	_, err := a.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if ignoreExists(err) != nil {
		return fmt.Errorf("bind %s to %s: %w", user, role, err)
	}
	return nil
}

// bindAuthReader permits the server of an aggregated API to read the API server's client CA.
func (a *access) bindAuthReader(ctx context.Context, user string) error {
	const role = "extension-apiserver-authentication-reader"
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + ":" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	_, err := a.client.RbacV1().RoleBindings(systemNamespace).Create(ctx, binding, metav1.CreateOptions{})
	if ignoreExists(err) != nil {
		return fmt.Errorf("bind %s to %s: %w", user, role, err)
	}
	// The server reads it once, and gives up.
	return poll(ctx, func(ctx context.Context) error {
		review, err := a.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: "get", Resource: "configmaps", Namespace: systemNamespace, Name: "extension-apiserver-authentication",
			}},
		}, metav1.CreateOptions{})
		if err == nil && !review.Status.Allowed {
			err = fmt.Errorf("%s may not read how the API server proves itself: %s", user, review.Status.Reason)
		}
		return err
	})
}
