package read

import (
	"context"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/plimsoll-dev/plimsoll/internal/doctor"
)

// rights finds out which rights of config/ the accounts of the installation lack; without an installation, whether the
// caller may make one.
func (r *reader) rights(ctx context.Context) {
	all, err := manifests()
	if err != nil {
		r.facts.Rights.Unread = &doctor.Unread{Why: err.Error()}
		return
	}
	needed, err := r.needed(all)
	if err != nil {
		r.facts.Rights.Unread = &doctor.Unread{Why: err.Error()}
		return
	}
	if len(needed) == 0 {
		r.mayInstall(ctx, all)
		return
	}
	isAllowed, failed := make([]bool, len(needed)), make([]*doctor.Unread, len(needed))
	what := request{verb: "create", group: "authorization.k8s.io", resource: "subjectaccessreviews", isOfCluster: true}
	each(needed, func(i int, right *doctor.Right) {
		failed[i] = what.unread(r.within(ctx, func(ctx context.Context) (err error) {
			isAllowed[i], err = r.isGranted(ctx, right)
			return err
		}))
	})
	r.facts.Rights.Value.Checked = len(needed)
	for i := range needed {
		switch {
		case failed[i] != nil:
			r.facts.Rights.Unread = failed[i]
		case !isAllowed[i]:
			r.facts.Rights.Value.Denied = append(r.facts.Rights.Value.Denied, needed[i])
		}
	}
}

// needed are the rights of config/ under the names of the installation; none if there is no controller.
func (r *reader) needed(all []manifest) ([]doctor.Right, error) {
	controllers := r.facts.Expected()
	if len(controllers) == 0 {
		return nil, nil
	}
	granted, err := grants(all)
	if err != nil {
		return nil, err
	}
	controller := &controllers[0]
	accounts := map[string]string{
		shippedController: controller.Namespace + "/" + controller.Account,
		shippedReader:     readerOf(controller),
	}
	for i := range r.facts.Deployments.Value {
		if d := &r.facts.Deployments.Value[i]; d.Component == doctor.AdmissionController &&
			d.Namespace == controller.Namespace {
			accounts[shippedAdmission] = d.Namespace + "/" + d.Account
		}
	}
	isVertical := controller.IsVertical()
	var needed []doctor.Right
	for _, g := range granted {
		account := accounts[g.account]
		if account == "" || g.isVertical && g.account == shippedController && !isVertical {
			continue
		}
		g.Account = account
		if g.Namespace == shippedNamespace {
			g.Namespace = controller.Namespace
		}
		switch {
		case g.Resource == "serviceaccounts/token":
			_, g.Name, _ = strings.Cut(accounts[shippedReader], "/")
		case g.Resource == "leases" && g.Name == shippedController:
			_, g.Name = r.facts.LeaseOf(controller)
		}
		needed = append(needed, g.Right)
	}
	return needed, nil
}

// readerOf is the account whose token kubelets receive.
func readerOf(controller *doctor.Deployment) string {
	account := strings.ReplaceAll(controller.Flag("kubelet-service-account"), "$(POD_NAMESPACE)", controller.Namespace)
	if namespace, name, _ := strings.Cut(account, "/"); doctor.IsName(namespace) && doctor.IsName(name) {
		return account
	}
	return controller.Namespace + "/" + shippedReader
}

func attributes(right *doctor.Right) *authorizationv1.ResourceAttributes {
	resource, subresource, _ := strings.Cut(right.Resource, "/")
	return &authorizationv1.ResourceAttributes{
		Namespace: right.Namespace, Verb: right.Verb, Group: right.Group, Resource: resource, Subresource: subresource,
		Name: right.Name,
	}
}

// isGranted asks the API server whether an account has a right.
func (r *reader) isGranted(ctx context.Context, right *doctor.Right) (bool, error) {
	namespace, name, _ := strings.Cut(right.Account, "/")
	review := authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		ResourceAttributes: attributes(right), User: "system:serviceaccount:" + namespace + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}}
	review.APIVersion, review.Kind = authorizationv1.SchemeGroupVersion.String(), "SubjectAccessReview"
	var answered authorizationv1.SubjectAccessReview
	err := r.api.create(ctx, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &review, &answered)
	return answered.Status.Allowed, err
}

// mayInstall finds out which kinds of config/ the caller may not create.
func (r *reader) mayInstall(ctx context.Context, all []manifest) {
	what := request{verb: "create", group: "authorization.k8s.io", resource: "selfsubjectaccessreviews", isOfCluster: true}
	r.facts.InstallationRights = reading(ctx, r, what, func(ctx context.Context) ([]string, error) {
		var missing, asked []string
		for i := range all {
			m := &all[i]
			kind := schema.FromAPIVersionAndKind(m.kind.APIVersion, m.kind.Kind)
			resource, _ := apimeta.UnsafeGuessKindToResource(kind)
			right := doctor.Right{Verb: "create", Group: resource.Group, Resource: resource.Resource,
				Namespace: m.kind.Namespace}
			name := "create " + resource.GroupResource().String()
			if slices.Contains(asked, name) {
				continue
			}
			asked = append(asked, name)
			review := authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes(&right)},
			}
			review.APIVersion, review.Kind = authorizationv1.SchemeGroupVersion.String(), "SelfSubjectAccessReview"
			var answered authorizationv1.SelfSubjectAccessReview
			if err := r.api.create(ctx, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review,
				&answered); err != nil {
				return nil, err
			}
			if !answered.Status.Allowed {
				missing = append(missing, name)
			}
		}
		return missing, nil
	})
}
