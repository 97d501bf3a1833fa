package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/deployed"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/manifests"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/pki"
)

// vertical is upstream's vertical autoscaler, from its own manifests, or Plimsoll in the place of its three programs:
// with their names, accounts, limits, probes and flags, and metrics-server as the source of what pods use.
type vertical struct {
	binDir, logDir string
	subjects       []Subject
}

// The programs of upstream's vertical autoscaler. The first two are components of Plimsoll's controller.
const (
	recommender = "recommender"
	updater     = "updater"
	admission   = "admission-controller"
)

// neededBy are the programs that upstream's scripts deploy for each group of tests.
var neededBy = map[string][]string{
	recommender: {recommender},
	updater:     {updater},
	admission:   {admission},
	"actuation": {updater, admission},
	fullVPA:     {recommender, updater, admission},
}

// fullVPA is the group whose pods use, where a test orders load, all CPU of a small machine.
const fullVPA = "full-vpa"

// gates are upstream's of this release, all of them, so that no test is left out.
const gates = "--feature-gates=CPUStartupBoost=true,InPlace=true,PerVPAConfig=true"

// Where upstream's manifests deploy, and what its admission controller makes and is reached by.
const (
	upstreamNamespace = metav1.NamespaceSystem
	webhookConfig     = "vpa-webhook-config"
	webhookHost       = "vpa-webhook." + upstreamNamespace + ".svc"
	admissionLease    = "vpa-admission-controller"
)

// verticalPatience is for pods to be ready on a busy machine, and upstream's webhook to be registered.
const verticalPatience = 3 * time.Minute

// groupLabel matches the group of a test in its full name.
var groupLabel = regexp.MustCompile(`\[VPA\] \[([^]]+)\]`)

func verticalSpec(fullName string) Spec {
	spec := Spec{FullName: fullName, Name: withoutLabels(fullName)}
	if match := groupLabel.FindStringSubmatch(fullName); match != nil {
		spec.Group = match[1]
	}
	if neededBy[spec.Group] == nil {
		spec.NotRun = "of a group that this runner does not know"
	}
	if spec.Group == fullVPA {
		spec.share = everyPlace
	}
	return spec
}

func (v *vertical) prepare(ctx context.Context, s *stage) error {
	if err := v.importImages(ctx, s); err != nil {
		return err
	}
	objects, err := upstreamManifests(ctx)
	if err != nil {
		return err
	}
	isDeployment := func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" }
	objects = slices.DeleteFunc(objects, isDeployment)
	if err := manifests.Apply(ctx, s.cluster.RESTConfig(), objects); err != nil {
		return fmt.Errorf("upstream's manifests: %w", err)
	}
	if err := allowAll(ctx, s.cluster.Client()); err != nil {
		return err
	}
	return s.startMetricsServer(ctx)
}

// allowAll gives the accounts all rights: Plimsoll needs others than upstream's manifests grant, and what it needs is
// tested elsewhere.
func allowAll(ctx context.Context, client kubernetes.Interface) error {
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "upstream-vpa"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	}
	for _, program := range neededBy[fullVPA] {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{
			Kind: rbacv1.ServiceAccountKind, Namespace: upstreamNamespace, Name: deploymentOf(program),
		})
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("rights: %w", err)
	}
	return nil
}

// deploymentOf returns the name of a program's Deployment and account in upstream's manifests.
func deploymentOf(program string) string { return "vpa-" + program }

// upstreamManifests returns those of the compared release, from the go command's copy of its module.
func upstreamManifests(ctx context.Context) ([]*unstructured.Unstructured, error) {
	dir, err := build.VerticalAutoscalerDir(ctx)
	if err != nil {
		return nil, err
	}
	objects, err := manifests.Kustomization(filepath.Join(dir, "deploy"))
	if err != nil {
		return nil, fmt.Errorf("upstream's manifests: %w", err)
	}
	return objects, nil
}

func (v *vertical) begin(ctx context.Context, s *stage, subject Subject, group string) error {
	ctx, cancel := context.WithTimeout(ctx, verticalPatience)
	defer cancel()
	needed := neededBy[group]
	if slices.Contains(needed, admission) {
		if err := writeCertificates(ctx, s.cluster.Client()); err != nil {
			return err
		}
	}
	objects, err := upstreamManifests(ctx)
	if err != nil {
		return err
	}
	var deployments []*unstructured.Unstructured
	for _, object := range objects {
		program := strings.TrimPrefix(object.GetName(), deploymentOf(""))
		if object.GetKind() != "Deployment" || !slices.Contains(needed, program) {
			continue
		}
		if err := adapt(object, subject, program); err != nil {
			return fmt.Errorf("upstream's manifests: %s: %w", object.GetName(), err)
		}
		deployments = append(deployments, object)
	}
	if len(deployments) != len(needed) {
		return fmt.Errorf("upstream's manifests: %d of %v have a Deployment", len(deployments), needed)
	}
	if err := manifests.Apply(ctx, s.cluster.RESTConfig(), deployments); err != nil {
		return fmt.Errorf("upstream's manifests: %w", err)
	}
	return deployed.Poll(ctx, func(ctx context.Context) error { return isReady(ctx, s.cluster.Client(), needed) })
}

// plimsollArgs are Plimsoll's arguments in place of each program: with the address of upstream's probes, and without
// leader election, as upstream's programs run.
var plimsollArgs = map[string][]any{
	recommender: {"/plimsoll", "controller", "--components=recommender", "--address=:8942", "--leader-elect=false"},
	updater:     {"/plimsoll", "controller", "--components=updater", "--address=:8943", "--leader-elect=false"},
	admission:   {"/plimsoll", admission},
}

// adapt makes a Deployment run a subject's program, from an image that no registry has.
func adapt(object *unstructured.Unstructured, subject Subject, program string) error {
	return deployed.EditContainer(object, func(container map[string]any) error {
		container["image"], container["imagePullPolicy"] = imageOf[subject], string(corev1.PullNever)
		command := []any{"/" + program}
		if subject == Plimsoll {
			command = plimsollArgs[program]
		}
		command = append(slices.Clip(command), gates, "--v=4")
		if program == admission {
			command = append(command, "--reload-cert")
		}
		container["command"] = command
		delete(container, "args")
		return nil
	})
}

// isReady is nil once the programs' pods are ready and, with an admission controller, it is registered.
func isReady(ctx context.Context, client kubernetes.Interface, programs []string) error {
	for _, program := range programs {
		d, err := client.AppsV1().Deployments(upstreamNamespace).Get(ctx, deploymentOf(program), metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ReadyReplicas == 0 {
			return fmt.Errorf("%s has no ready pod", d.Name)
		}
	}
	if !slices.Contains(programs, admission) {
		return nil
	}
	if _, err := client.CoordinationV1().Leases(upstreamNamespace).Get(ctx, admissionLease,
		metav1.GetOptions{}); err != nil {
		return err
	}
	found, err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx, webhookConfig,
		metav1.GetOptions{})
	if err == nil && (len(found.Webhooks) == 0 || len(found.Webhooks[0].ClientConfig.CABundle) == 0) {
		err = errors.New("the webhook is not registered")
	}
	return err
}

// end removes webhooks without a server, and a Lease that is still held.
func (v *vertical) end(ctx context.Context, s *stage, subject Subject) error {
	client := s.cluster.Client()
	if err := v.saveLogs(ctx, client, subject); err != nil {
		return err
	}
	for _, program := range neededBy[fullVPA] {
		if err := deployed.Delete(ctx, client, upstreamNamespace, deploymentOf(program)); err != nil {
			return err
		}
	}
	for _, err := range []error{
		client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, webhookConfig, metav1.DeleteOptions{}),
		client.CoordinationV1().Leases(upstreamNamespace).Delete(ctx, admissionLease, metav1.DeleteOptions{}),
	} {
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("end the admission controller: %w", err)
		}
	}
	return nil
}

// saveLogs writes the programs' logs, of the pods that there are now, beside those of the tests.
func (v *vertical) saveLogs(ctx context.Context, client kubernetes.Interface, subject Subject) error {
	pods, err := client.CoreV1().Pods(upstreamNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("logs of the programs: %w", err)
	}
	for i := range pods.Items {
		name := pods.Items[i].Name
		text, err := client.CoreV1().Pods(upstreamNamespace).GetLogs(name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err == nil {
			err = os.WriteFile(filepath.Join(v.logDir, string(subject), name+".log"), text, 0o600)
		}
		if err != nil {
			return fmt.Errorf("log of %s: %w", name, err)
		}
	}
	return nil
}

// secretKeys are the Secrets of certificates, with their keys for the authority, the certificate and its key: the
// admission controller's, and the one whose content a test puts into that.
var secretKeys = map[string][3]string{
	"vpa-tls-certs": {"caCert.pem", "serverCert.pem", "serverKey.pem"},
	"vpa-e2e-certs": {"e2eCaCert.pem", "e2eCert.pem", "e2eKey.pem"},
}

// writeCertificates makes both anew.
func writeCertificates(ctx context.Context, client kubernetes.Interface) error {
	secrets := client.CoreV1().Secrets(upstreamNamespace)
	for name, keys := range secretKeys {
		serving, err := pki.NewServing(webhookHost)
		if err != nil {
			return err
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{
			keys[0]: serving.Authority, keys[1]: serving.Certificate, keys[2]: serving.Key,
		}}
		if err := secrets.Delete(ctx, name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("certificates: %w", err)
		}
		if _, err := secrets.Create(ctx, secret, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("certificates: %w", err)
		}
	}
	return nil
}
