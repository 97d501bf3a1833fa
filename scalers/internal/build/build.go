// Package build makes KEDA's scalers as KEDA's operator makes them: with the environment of the target's container, and
// with the values of a TriggerAuthentication.
package build

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers/authentication"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"github.com/kedacore/keda/v2/pkg/scaling/resolver"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/triggers"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/worker"
)

// objectKind is the kind of object that scalers see as their owner.
const objectKind = "WorkloadAutoscaler"

// Builder makes scalers.
type Builder struct {
	Client    client.Client
	Clientset kubernetes.Interface
	// HTTPTimeout bounds the requests of scalers that have no timeout of their own.
	HTTPTimeout time.Duration
	Log         logr.Logger
}

// Build implements worker.Build.
func (b *Builder) Build(ctx context.Context, j *job.Job) (worker.Built, error) {
	construct, err := triggers.For(j.Scaler.Type)
	if err != nil {
		return worker.Built{}, err
	}
	config := b.config(j)
	if err := b.resolve(ctx, j, config); err != nil {
		return worker.Built{Secrets: secretsOf(config)}, err
	}
	scaler, err := construct(ctx, b.Client, config)
	if err != nil {
		return worker.Built{Secrets: secretsOf(config)}, err
	}
	return worker.Built{Scaler: scaler, Secrets: secretsOf(config)}, nil
}

func (b *Builder) config(j *job.Job) *scalersconfig.ScalerConfig {
	return &scalersconfig.ScalerConfig{
		ScalableObjectName: j.Object, ScalableObjectNamespace: j.Namespace, ScalableObjectType: objectKind,
		GlobalHTTPTimeout: b.HTTPTimeout, TriggerName: j.Metric, TriggerType: j.Scaler.Type,
		// Scalers may change their metadata; the job stays as it is.
		TriggerMetadata: nonNil(maps.Clone(j.Scaler.Metadata)), ResolvedEnv: map[string]string{},
		AuthParams: map[string]string{}, TriggerUniqueKey: objectKind + "-" + j.ID(),
		PodIdentity:  kedav1alpha1.AuthPodIdentity{Provider: kedav1alpha1.PodIdentityProviderNone},
		ScaledObject: scaledObject(j), Recorder: &recorder{b.Log},
	}
}

func nonNil(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

// resolve reads what the scaler's configuration refers to.
func (b *Builder) resolve(ctx context.Context, j *job.Job, config *scalersconfig.ScalerConfig) error {
	c, err := b.authentication(ctx, j)
	if err == nil && c != nil {
		err = b.checkSpec(c)
	}
	if err != nil {
		return fmt.Errorf("authenticationRef: %w", err)
	}
	template, err := b.environment(ctx, j, config, c)
	if err != nil {
		return err
	}
	var ref *kedav1alpha1.AuthenticationRef
	if a := j.Scaler.AuthenticationRef; a != nil {
		ref = &kedav1alpha1.AuthenticationRef{Name: a.Name, Kind: a.Kind}
	}
	params, identity, err := resolver.ResolveAuthRefAndPodIdentity(ctx, b.Client, b.Log, ref, template, j.Namespace,
		&authentication.AuthClientSet{CoreV1Interface: b.Clientset.CoreV1()})
	// Beside an error too: it may have the values that were read before.
	config.AuthParams, config.PodIdentity = nonNil(params), identity
	if err == nil {
		err = b.checkParameters(ctx, c, params)
	}
	if err != nil {
		return fmt.Errorf("authenticationRef: %w", err)
	}
	return nil
}

// environment sets the environment variables that the metadata names, and returns the template of the target's pods;
// nil if it cannot be read. Most scalers need nothing of the target: that is an error of the others alone.
func (b *Builder) environment(
	ctx context.Context, j *job.Job, config *scalersconfig.ScalerConfig, c *triggerAuthentication,
) (*corev1.PodTemplateSpec, error) {
	template, container, targetErr := resolver.ResolveScaleTargetPodSpec(ctx, b.Client, scaledObject(j))
	keys := variables(config.TriggerMetadata)
	if targetErr == nil && template != nil && (len(keys) > 0 || c.usesEnvironment()) {
		if err := b.checkContainers(ctx, &template.Spec, c, j.Namespace); err != nil {
			return nil, fmt.Errorf("the target: %w", err)
		}
		env, err := resolver.ResolveContainerEnv(ctx, b.Client, b.Log, &template.Spec, container, j.Namespace, nil)
		if err != nil {
			targetErr = err
		}
		config.ResolvedEnv = named(config.TriggerMetadata, env)
	}
	if targetErr == nil {
		return template, checkVariables(config.TriggerMetadata, config.ResolvedEnv, template)
	}
	if len(keys) > 0 {
		return nil, fmt.Errorf("metadata: %s: the target's environment cannot be read: %w", keys[0], targetErr)
	}
	if field := c.usesTarget(); field != "" {
		return nil, fmt.Errorf("authenticationRef: %s: the target cannot be read: %w", field, targetErr)
	}
	return nil, nil //nolint:nilnil // there is none
}

// scaledObject is the object as KEDA would see it.
func scaledObject(j *job.Job) *kedav1alpha1.ScaledObject {
	group, err := schema.ParseGroupVersion(j.Target.APIVersion)
	if err != nil {
		group = schema.GroupVersion{}
	}
	return &kedav1alpha1.ScaledObject{
		ObjectMeta: metav1.ObjectMeta{Namespace: j.Namespace, Name: j.Object},
		Spec: kedav1alpha1.ScaledObjectSpec{ScaleTargetRef: &kedav1alpha1.ScaleTarget{
			APIVersion: j.Target.APIVersion, Kind: j.Target.Kind, Name: j.Target.Name,
		}},
		Status: kedav1alpha1.ScaledObjectStatus{ScaleTargetGVKR: &kedav1alpha1.GroupVersionKindResource{
			Group: group.Group, Version: group.Version, Kind: j.Target.Kind,
		}},
	}
}

// secretsOf returns the values that no error may show: those of the credentials, and the variables that the metadata
// names. Words of other variables are in many errors.
func secretsOf(config *scalersconfig.ScalerConfig) []string {
	return slices.Concat(slices.Collect(maps.Values(config.AuthParams)), slices.Collect(maps.Values(config.ResolvedEnv)))
}

// recorder logs what KEDA would make an event of its ScaledObject.
type recorder struct{ log logr.Logger }

var _ events.EventRecorder = (*recorder)(nil)

// Eventf implements events.EventRecorder.
//
//nolint:revive // the interface has so many
func (r *recorder) Eventf(regarding, _ runtime.Object, _, reason, _, note string, args ...any) {
	namespaced, _ := regarding.(metav1.Object)
	log := r.log
	if namespaced != nil {
		log = log.WithValues("namespace", namespaced.GetNamespace(), "object", namespaced.GetName())
	}
	log.Info(fmt.Sprintf(note, args...), "reason", reason)
}
