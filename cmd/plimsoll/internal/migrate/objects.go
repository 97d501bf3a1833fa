package migrate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	plimsollv1alpha1 "github.com/plimsoll-dev/plimsoll/api/plimsoll/v1alpha1"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/kube/names"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/cluster"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/convert"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/keda"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/session"
	"github.com/plimsoll-dev/plimsoll/internal/migrate/steps"
)

// selection is which objects of a cluster to migrate: those with these names, or all.
type selection struct {
	isScaledObject bool
	names          []string
	// namespace is empty for all.
	namespace string
}

func (s *selection) kind() string {
	if s.isScaledObject {
		return keda.Kind
	}
	return session.HPA
}

// resource is that of the objects, with its API group.
func (s *selection) resource() string {
	if s.isScaledObject {
		return names.ScaledObjects.GroupResource().String()
	}
	return names.HPAs.GroupResource().String()
}

// workloadAutoscalers is the resource of what replaces the objects.
var workloadAutoscalers = names.WLAs

// notFound returns the error about a named object that does not exist.
func notFound(kind schema.GroupVersionResource, name types.NamespacedName) error {
	resource := kind.GroupResource().String()
	return &cmderror.Error{
		What:    fmt.Sprintf("%s %q not found in namespace %s", resource, name.Name, name.Namespace),
		Next:    fmt.Sprintf("see kubectl get %s -n %s", resource, name.Namespace),
		Missing: &cmderror.Object{Resource: resource, Namespace: name.Namespace, Name: name.Name},
	}
}

// missing adds the object to an error if it is the only one and does not exist.
func (s *selection) missing(err error) error {
	if len(s.names) != 1 || !errors.Is(err, steps.ErrNone) {
		return err
	}
	kind := names.HPAs
	if s.isScaledObject {
		kind = names.ScaledObjects
	}
	found := notFound(kind, types.NamespacedName{Namespace: s.namespace, Name: s.names[0]})
	return fmt.Errorf("%w; %w", err, found)
}

var (
	hpaKinds = []string{"hpa", "horizontalpodautoscaler", "horizontalpodautoscalers",
		"wla", "workloadautoscaler", "workloadautoscalers"}
	scaledObjectKinds = []string{"so", "scaledobject", "scaledobjects"}
)

// parseArgs reads hpa/NAME..., or hpa NAME..., as kubectl does.
func parseArgs(args []string) (*selection, error) {
	s := &selection{}
	for i, arg := range args {
		kind, name, hasSlash := strings.Cut(arg, "/")
		if i > 0 && hasSlash != strings.Contains(args[0], "/") {
			return nil, errors.New("give all objects as KIND/NAME, or all as KIND NAME")
		}
		if i > 0 && !hasSlash {
			s.names = append(s.names, arg)
			continue
		}
		kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
		isScaledObject := slices.Contains(scaledObjectKinds, kind)
		switch {
		case !isScaledObject && !slices.Contains(hpaKinds, kind):
			return nil, fmt.Errorf("%s: only hpa/NAME and scaledobject/NAME can be migrated", arg)
		case i > 0 && isScaledObject != s.isScaledObject:
			return nil, errors.New("give either HPAs or ScaledObjects")
		case hasSlash && name == "":
			return nil, fmt.Errorf("%s: a name is missing", arg)
		}
		s.isScaledObject = isScaledObject
		if hasSlash {
			s.names = append(s.names, name)
		}
	}
	return s, nil
}

func (o *migrateOptions) printer() *session.Printer {
	return &session.Printer{Out: o.out, Findings: o.progress}
}

func (o *migrateOptions) printFiles(ctx context.Context) error {
	read, readErr := session.ReadManifests(o.files, o.in, o.labels)
	p := o.printer()
	p.Places = read.Places
	for _, object := range read.Migrated {
		err := p.Convert(ctx, object, func(object *unstructured.Unstructured) keda.Options {
			return keda.Options{IsNative: o.native, IsFromFiles: true, Authentications: read.Authentications(object)}
		})
		if err != nil {
			return err
		}
	}
	return errors.Join(readErr, p.Result())
}

func (o *migrateOptions) printCluster(ctx context.Context, client *cluster.Client, what *selection) error {
	all, err := o.objects(ctx, client, what)
	if err != nil {
		return err
	}
	p := o.printer()
	for _, object := range all {
		err := p.Convert(ctx, object, func(object *unstructured.Unstructured) keda.Options {
			options := keda.Options{HPA: client.HPAOf(ctx, object), IsNative: o.native}
			if o.native {
				options.Authentications = client.Authentications(ctx, object)
			}
			return options
		})
		if err != nil {
			return err
		}
	}
	return p.Result()
}

func (o *migrateOptions) objects(
	ctx context.Context, client *cluster.Client, what *selection,
) ([]*unstructured.Unstructured, error) {
	get, list := client.HPA, client.HPAs
	if what.isScaledObject {
		get, list = client.ScaledObject, client.ScaledObjects
	}
	if len(what.names) == 0 {
		all, err := list(ctx, what.namespace, o.selector)
		if err != nil {
			return nil, err
		}
		return slices.DeleteFunc(all, o.isControlled), nil
	}
	var all []*unstructured.Unstructured
	for _, name := range what.names {
		object, err := get(ctx, types.NamespacedName{Namespace: what.namespace, Name: name})
		if err != nil {
			return nil, apierror.Request{Verb: "get", Resource: what.resource(), Namespace: what.namespace,
				Name: name}.Sentence(err)
		}
		all = append(all, object)
	}
	return all, nil
}

// isControlled reports whether a controller makes the object, as KEDA does, and reports
// that to the user.
func (o *migrateOptions) isControlled(object *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(object)
	if owner == nil {
		return false
	}
	fmt.Fprintf(o.progress, "%s/%s: skipped: %s %s controls it\n", object.GetNamespace(), object.GetName(),
		owner.Kind, owner.Name)
	return true
}

func (o *migrateOptions) printBack(ctx context.Context, client *cluster.Client, what *selection) error {
	names, err := o.namesBack(ctx, client, what)
	if err != nil {
		return err
	}
	p := o.printer()
	for _, name := range names {
		state, err := client.Originals(what.kind()).State(ctx, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if state.WorkloadAutoscaler == nil {
			return notFound(workloadAutoscalers, name)
		}
		original, err := convert.ToManifest(state.WorkloadAutoscaler)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if original == nil {
			return fmt.Errorf("%s: the WorkloadAutoscaler was not made by plimsoll migrate", name)
		}
		if err := p.Back(original, steps.Lost(state.WorkloadAutoscaler, original)); err != nil {
			return err
		}
	}
	return p.Result()
}

func (s *selection) named() []types.NamespacedName {
	var names []types.NamespacedName
	for _, name := range s.names {
		names = append(names, types.NamespacedName{Namespace: s.namespace, Name: name})
	}
	return names
}

// namesForward are the objects to replace, and those whose replacement was interrupted.
func (o *migrateOptions) namesForward(
	ctx context.Context, client *cluster.Client, what *selection,
) ([]types.NamespacedName, error) {
	if len(what.names) > 0 {
		return what.named(), nil
	}
	originals, err := o.objects(ctx, client, what)
	if err != nil {
		return nil, err
	}
	migrated, err := client.Originals(what.kind()).Migrated(ctx, what.namespace, o.selector)
	if err != nil {
		return nil, err
	}
	var names []types.NamespacedName
	for i := range migrated {
		if migrated[i].Annotations[convert.Migrating] != "" {
			names = append(names, types.NamespacedName{Namespace: migrated[i].Namespace, Name: migrated[i].Name})
		}
	}
	seen := sets.New(names...)
	replaced := replacedIn(migrated)
	for _, original := range originals {
		name := types.NamespacedName{Namespace: original.GetNamespace(), Name: original.GetName()}
		// A ScaledObject that was replaced is still there.
		if !seen.Has(name) && !(what.isScaledObject && replaced.Has(name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

func replacedIn(migrated []plimsollv1alpha1.WorkloadAutoscaler) sets.Set[types.NamespacedName] {
	names := sets.New[types.NamespacedName]()
	for i := range migrated {
		names.Insert(types.NamespacedName{Namespace: migrated[i].Namespace, Name: migrated[i].Name})
	}
	return names
}

func (o *migrateOptions) namesBack(
	ctx context.Context, client *cluster.Client, what *selection,
) ([]types.NamespacedName, error) {
	if len(what.names) > 0 {
		return what.named(), nil
	}
	migrated, err := client.Originals(what.kind()).Migrated(ctx, what.namespace, o.selector)
	if err != nil {
		return nil, err
	}
	names := replacedIn(migrated).UnsortedList()
	slices.SortFunc(names, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return names, nil
}

// poll is the time between two reads.
const poll = 2 * time.Second

func (o *migrateOptions) write(ctx context.Context, client *cluster.Client, what *selection) error {
	if info, err := os.Stat(o.backupDir); err != nil || !info.IsDir() {
		return cmderror.Usagef("--backup-dir=%s: it is not a folder", o.backupDir)
	}
	served, err := client.Served(ctx)
	if err != nil {
		return err
	}
	if !served {
		return &cmderror.Error{What: "the cluster does not serve WorkloadAutoscalers",
			Why:  "their CustomResourceDefinition is not installed",
			Next: "install Plimsoll first: plimsoll doctor prints the command for this cluster"}
	}
	find := o.namesForward
	if o.back {
		find = o.namesBack
	}
	names, err := find(ctx, client, what)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return &cmderror.Error{What: "there is nothing to migrate",
			Next: "list them with kubectl get hpa -A; choose a namespace with -n"}
	}
	namespaces := sets.New[string]()
	for _, name := range names {
		namespaces.Insert(name.Namespace)
	}
	originals := client.Originals(what.kind())
	originals.IsNative = o.native
	if err := originals.CheckPermissions(ctx, sets.List(namespaces), o.back); err != nil {
		return err
	}
	s := o.session(originals, what, len(names))
	if o.back {
		return s.Back(ctx, names)
	}
	return s.Apply(ctx, names)
}

func (o *migrateOptions) session(originals *cluster.Originals, what *selection, objects int) *session.Session {
	progress := session.Lines(o.progress)
	warn := func(name types.NamespacedName, message string) { fmt.Fprintf(progress, "%s: %s\n", name, message) }
	report := warn
	if objects > session.FewObjects {
		report = func(types.NamespacedName, string) {}
	}
	out := o.out
	if !o.back { // which writes manifests
		out = wrapped(out)
	}
	backups := &session.Backups{Folder: o.backupDir}
	s := &session.Session{
		Kind: what.kind(), Observe: o.observe, Out: out, Progress: progress, Confirm: o.confirm, IsUnattended: o.yes,
		Backups: backups,
	}
	s.Runner = &steps.Runner{
		Cluster: originals, Backup: backups.Keep, MayRestore: s.MayRestore, Poll: poll, Timeout: o.timeout,
		Report: report, Warn: warn, AcceptsDifferences: o.acceptDifferences,
	}
	return s
}
