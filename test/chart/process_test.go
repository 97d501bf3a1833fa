//go:build helm

package chart

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
)

// The pods of the development cluster are simulated. A process stands for the container of each pod that is followed:
// it begins when the pod runs, with the pod's arguments and as its service account, and is told to end when the pod is
// deleted. The rollout, which pod begins and ends when, is kube-controller-manager's.
type podProcesses struct {
	t       *testing.T
	cluster *devcluster.Cluster
	binary  string
	label   string
	done    chan struct{}
	cancel  context.CancelFunc
	once    sync.Once

	mu      sync.Mutex
	running map[string]*devcluster.Program // by pod; guarded by mu
	started []string                       // the names of all pods that had one; guarded by mu
	problem error                          // guarded by mu
}

// followPods gives the pods of plimsoll-system with a label app.kubernetes.io/name processes until the test ends. The
// test fails if one of them lacked a right.
func followPods(t *testing.T, cluster *devcluster.Cluster, component string) *podProcesses {
	t.Helper()
	binary, err := parts.Program(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p := &podProcesses{
		t: t, cluster: cluster, binary: binary, label: "app.kubernetes.io/name=" + component, cancel: cancel,
		done: make(chan struct{}), running: map[string]*devcluster.Program{},
	}
	go p.follow(ctx)
	t.Cleanup(p.end)
	return p
}

// follow looks at the pods again whenever one of them changes.
func (p *podProcesses) follow(ctx context.Context) {
	defer close(p.done)
	for ctx.Err() == nil {
		pods := p.cluster.Client().CoreV1().Pods(namespace)
		list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: p.label})
		if err != nil {
			p.fail(ctx, err)
			return
		}
		p.take(ctx, list.Items)
		changes, err := pods.Watch(ctx, metav1.ListOptions{LabelSelector: p.label, ResourceVersion: list.ResourceVersion})
		if err != nil {
			p.fail(ctx, err)
			return
		}
		select {
		case <-changes.ResultChan():
		case <-ctx.Done():
		}
		changes.Stop()
	}
}

func (p *podProcesses) fail(ctx context.Context, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() == nil && p.problem == nil {
		p.problem = err
	}
}

// take starts and ends processes as the pods are now.
func (p *podProcesses) take(ctx context.Context, pods []corev1.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wanted := map[string]bool{}
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp != nil || pod.Status.Phase != corev1.PodRunning {
			continue
		}
		wanted[pod.Name] = true
		if p.running[pod.Name] != nil {
			continue
		}
		program, err := p.start(ctx, pod)
		if err != nil {
			if ctx.Err() == nil && p.problem == nil {
				p.problem = err
			}
			continue
		}
		p.running[pod.Name] = program
		p.started = append(p.started, pod.Name)
	}
	for name, program := range p.running {
		if !wanted[name] {
			delete(p.running, name)
			go program.Stop(context.WithoutCancel(ctx))
		}
	}
}

// start runs a pod's container. Its addresses are this machine's, and the last word on each flag counts.
func (p *podProcesses) start(ctx context.Context, pod *corev1.Pod) (*devcluster.Program, error) {
	kubeconfig, err := parts.ServiceAccount(p.cluster, pod.Spec.ServiceAccountName)
	if err != nil {
		return nil, err
	}
	addresses, err := parts.FreeAddresses(ctx, 2)
	if err != nil {
		return nil, err
	}
	container := &pod.Spec.Containers[0]
	command := []string{"env"}
	expand := strings.NewReplacer()
	for _, variable := range container.Env {
		value := variable.Value
		if source := variable.ValueFrom; source != nil && source.FieldRef != nil &&
			source.FieldRef.FieldPath == "metadata.namespace" {
			value = pod.Namespace
			expand = strings.NewReplacer("$("+variable.Name+")", value)
		}
		command = append(command, variable.Name+"="+value)
	}
	command = append(command, p.binary)
	for _, arg := range container.Args {
		command = append(command, expand.Replace(arg))
	}
	command = append(command, "--kubeconfig="+kubeconfig)
	path := "/readyz"
	if container.Args[0] == "admission-controller" {
		_, port, _ := strings.Cut(addresses[1], ":")
		command = append(command, "--address="+addresses[0], "--port="+port)
		path = "/healthz" // it is ready once the API server reaches it, which has no way to a simulated Service
	} else {
		command = append(command, "--health-probe-bind-address="+addresses[0], "--metrics-bind-address="+addresses[1],
			"--inspection-bind-address=0")
	}
	return p.cluster.StartProgram(ctx, pod.Name, command, func(ctx context.Context) error {
		return parts.Answers(ctx, "http://"+addresses[0]+path)
	})
}

// pods are those that have processes now.
func (p *podProcesses) pods() []string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.problem != nil {
		p.t.Fatal(p.problem)
	}
	var names []string
	for name := range p.running {
		names = append(names, name)
	}
	return names
}

// end stops all processes and looks for rights that they lacked. The test ends them before it takes the rights away.
func (p *podProcesses) end() { p.once.Do(p.stop) }

func (p *podProcesses) stop() {
	p.t.Helper()
	p.cancel()
	<-p.done
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, program := range p.running {
		program.Stop(context.WithoutCancel(p.t.Context()))
	}
	for _, name := range p.started {
		log, err := os.ReadFile(p.cluster.LogPath(name))
		if err != nil {
			p.t.Error(err)
		}
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, "is forbidden: User ") {
				p.t.Errorf("the chart does not grant %s what it needs: %s", name, line)
				break
			}
		}
		if p.t.Failed() {
			const most = 8000
			p.t.Logf("the log of %s ends:\n%s", name, log[max(0, len(log)-most):])
		}
	}
	if p.problem != nil {
		p.t.Error(p.problem)
	}
}

// deployment is a Deployment of the release.
func (r *release) deployment(name string) *appsv1.Deployment {
	r.t.Helper()
	d, err := r.cluster.Client().AppsV1().Deployments(r.namespace).Get(r.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return d
}
