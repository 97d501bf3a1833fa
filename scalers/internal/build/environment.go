package build

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxEnvironment is the most bytes that the environment of a container may have. Linux starts no program with more
	// than about 2 MiB of arguments and environment.
	maxEnvironment = 1 << 20
	// maxValues is the most values that a TriggerAuthentication may name: each may have 1 MiB.
	maxValues = 100
	// maxUnclosed is the most references without an end in the value of a variable.
	maxUnclosed = 1000
)

// environmentSize adds up what KEDA's resolver would make of the environment of a container, without making it: each of
// 20 variables may refer twice to the one before, and the last one then has a million times the text of the first.
type environmentSize struct {
	client    client.Client
	namespace string
	container *corev1.Container
	// lengths are those of the variables so far, and total is that of all values: also of those that were replaced.
	lengths map[string]int
	total   int
}

// checkContainers returns an error if the environment of a container is too large to resolve it: that of the first one,
// or one that the TriggerAuthentication names.
func (b *Builder) checkContainers(
	ctx context.Context, spec *corev1.PodSpec, c *triggerAuthentication, namespace string,
) error {
	names := []string{""}
	if c != nil {
		for _, e := range c.spec.Env {
			names = append(names, e.ContainerName)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		i := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return name == "" || c.Name == name })
		if i < 0 {
			continue // KEDA's resolver refuses it.
		}
		e := &environmentSize{
			client: b.Client, namespace: namespace, container: &spec.Containers[i], lengths: map[string]int{},
		}
		if err := e.check(ctx); err != nil {
			return err
		}
	}
	return nil
}

// check adds up all variables, in the order in which KEDA's resolver sets them. What cannot be read has no length: the
// resolver has the error.
func (e *environmentSize) check(ctx context.Context) error {
	for _, source := range e.container.EnvFrom {
		for key, length := range e.ofSource(ctx, &source) {
			if err := e.add(source.Prefix+key, length); err != nil {
				return err
			}
		}
	}
	for _, v := range e.container.Env {
		length, err := e.ofVariable(ctx, &v)
		if err != nil {
			return fmt.Errorf("the environment variable %s of the container %s: %w", v.Name, e.container.Name, err)
		}
		if err := e.add(v.Name, length); err != nil {
			return err
		}
	}
	return nil
}

func (e *environmentSize) ofVariable(ctx context.Context, v *corev1.EnvVar) (int, error) {
	switch {
	case v.Value != "":
		return expandedLength(v.Value, e.lengths)
	case v.ValueFrom == nil:
	case v.ValueFrom.SecretKeyRef != nil:
		return e.ofSecret(ctx, v.ValueFrom.SecretKeyRef.Name)[v.ValueFrom.SecretKeyRef.Key], nil
	case v.ValueFrom.ConfigMapKeyRef != nil:
		return e.ofConfigMap(ctx, v.ValueFrom.ConfigMapKeyRef.Name)[v.ValueFrom.ConfigMapKeyRef.Key], nil
	}
	return 0, nil
}

func (e *environmentSize) add(name string, length int) error {
	e.lengths[name] = length
	e.total += length
	if e.total > maxEnvironment {
		return fmt.Errorf("the environment variable %s of the container %s is too large: with it the environment has "+
			"more than 1 MiB", name, e.container.Name)
	}
	return nil
}

func (e *environmentSize) ofSource(ctx context.Context, source *corev1.EnvFromSource) map[string]int {
	switch {
	case source.ConfigMapRef != nil:
		return e.ofConfigMap(ctx, source.ConfigMapRef.Name)
	case source.SecretRef != nil:
		return e.ofSecret(ctx, source.SecretRef.Name)
	}
	return nil
}

func (e *environmentSize) ofSecret(ctx context.Context, name string) map[string]int {
	object := &corev1.Secret{}
	if err := e.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, object); err != nil {
		return nil
	}
	return lengthsOf(object.Data)
}

func (e *environmentSize) ofConfigMap(ctx context.Context, name string) map[string]int {
	object := &corev1.ConfigMap{}
	if err := e.client.Get(ctx, client.ObjectKey{Namespace: e.namespace, Name: name}, object); err != nil {
		return nil
	}
	return lengthsOf(object.Data)
}

func lengthsOf[V string | []byte](data map[string]V) map[string]int {
	lengths := map[string]int{}
	for key, value := range data {
		lengths[key] = len(value)
	}
	return lengths
}

// expandedLength returns at least the length of a value in which references like $(NAME) are replaced, as KEDA's
// resolveEnvValue finds them. Text that gets shorter, as $$, counts as it is.
func expandedLength(value string, lengths map[string]int) (int, error) {
	total, unclosed := len(value), 0
	for cursor := 0; cursor+3 < len(value); cursor++ {
		if value[cursor] != '$' {
			continue
		}
		cursor++
		if value[cursor] != '(' {
			continue
		}
		name, _, isClosed := strings.Cut(value[cursor+1:], ")")
		if isClosed {
			total += lengths[name]
			cursor += len(name) + 1
			continue
		}
		// For each of these the resolver looks at all of the text up to its end.
		if unclosed++; unclosed > maxUnclosed {
			return 0, fmt.Errorf("it has more than %d references without )", maxUnclosed)
		}
	}
	return total, nil
}
