//go:build node

package node

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
	"github.com/plimsoll-dev/plimsoll/internal/dev/image"
	"github.com/plimsoll-dev/plimsoll/internal/dev/realnode"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/node/setup"
)

const (
	// own is the namespace of config/.
	own        = "plimsoll-system"
	controller = "plimsoll-controller"
	admission  = "plimsoll-admission-controller"
	// agents is the namespace of config/node-agent, its DaemonSet and its pods' label.
	agents = "plimsoll-node-agent"
	// startTimeout bounds the building up, with what has to be built for it.
	startTimeout = 40 * time.Minute
)

// moreFlags are added to config/'s: periods that suit a test, and no floor that would hide the needs of a small
// container.
var moreFlags = map[string][]string{
	controller: {
		"--horizontal-pod-autoscalers=act",
		"--recommender-interval=10s", "--updater-interval=10s", "--pod-recommendation-min-memory-mb=10",
		"--feature-gates=InPlace=true", "--v=1",
		"--node-agent-namespace=" + agents,
	},
	admission: {"--feature-gates=InPlace=true"},
	agents:    {"--kubelet-cgroup-root=" + realnode.CgroupRoot, "--v=1"},
}

// housekeeping is the period of the kubelet's cAdvisor.
var housekeeping = flag.Duration("housekeeping", 0, "the kubelet's --housekeeping-interval; 0 for its default")

// stage is the control plane with its node, for all tests.
var stage struct {
	cluster  *devcluster.Cluster
	node     *realnode.Node
	plimsoll string // the program
}

func TestMain(m *testing.M) {
	// They wait most of the time. The command line is read after this, and wins.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err) // not a test binary
	}
	flag.Parse()
	var once sync.Once
	down := func() (err error) {
		once.Do(func() { err = takeDown() })
		return err
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		say("interrupted")
		if err := down(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}()
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	code := 1
	err := buildUp(ctx)
	cancel()
	if err == nil {
		code = m.Run()
	}
	if err := errors.Join(err, down()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "  "+format+"\n", args...) }

func buildUp(ctx context.Context) error {
	if err := realnode.Check(); err != nil {
		return err
	}
	bin, err := setup.Programs(ctx)
	if err != nil {
		return err
	}
	ours, err := build.Run(ctx, build.Config{Parts: []string{"plimsoll"}, Out: os.Stderr})
	if err != nil {
		return err
	}
	stage.plimsoll = filepath.Join(ours.BinDir, "plimsoll")
	stage.cluster, err = devcluster.Start(ctx, devcluster.Config{
		BinDir: bin, ControlPlaneOnly: true, Scheduler: true, Log: say,
		// Nothing serves the addresses of Services here: the API server finds the admission servers' pods by itself.
		APIServerFlags: []string{"--enable-aggregator-routing=true"},
	})
	if err != nil {
		return err
	}
	stage.node, err = realnode.Start(ctx, realnode.Config{
		Cluster: stage.cluster, BinDir: bin, HousekeepingInterval: *housekeeping, Log: say,
	})
	if err != nil {
		return err
	}
	if err := errors.Join(importPlimsoll(ctx), setup.ImportLoad(ctx, stage.node)); err != nil {
		return err
	}
	if err := stage.cluster.DeployPlimsoll(ctx, adjust); err != nil {
		return err
	}
	if err := devcluster.DeployNodeAgent(ctx, stage.cluster, adjust); err != nil {
		return err
	}
	for _, name := range []string{controller, admission} {
		if _, err := stage.cluster.Kubectl(ctx, "-n", own, "rollout", "status", "deployment/"+name,
			"--timeout=5m"); err != nil {
			return errors.Join(err, describe(ctx))
		}
		say("%s is ready, in two pods", name)
	}
	return nil
}

// describe prints the state of pods that do not become ready.
func describe(ctx context.Context) error {
	text, err := stage.cluster.Kubectl(ctx, "-n", own, "describe", "pods")
	return errors.Join(errors.New(text), err)
}

func takeDown() error {
	var err error
	if stage.node != nil {
		say("taking everything down")
		err = stage.node.Stop()
	}
	if stage.cluster != nil {
		err = errors.Join(err, stage.cluster.Stop())
	}
	return err
}

func importPlimsoll(ctx context.Context) error {
	program, err := os.ReadFile(stage.plimsoll)
	if err != nil {
		return err
	}
	packed, err := image.Build(program, "test")
	if err != nil {
		return err
	}
	return stage.node.Import(ctx, image.DefaultTag, packed)
}

// adjust takes all of config/ and config/node-agent as it is, but for an image that no registry has, and more flags.
func adjust(object *unstructured.Unstructured) (bool, error) {
	flags := moreFlags[object.GetName()]
	if kind := object.GetKind(); kind != "Deployment" && kind != "DaemonSet" {
		return true, nil
	}
	if flags == nil {
		return false, fmt.Errorf("unknown %s %s", object.GetKind(), object.GetName())
	}
	path := []string{"spec", "template", "spec", "containers"}
	containers, found, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil || !found || len(containers) != 1 {
		return false, fmt.Errorf("not one container: %w", err)
	}
	container := containers[0].(map[string]any)
	container["imagePullPolicy"] = string(corev1.PullNever)
	args := container["args"].([]any)
	for _, flag := range flags {
		args = append(args, flag)
	}
	container["args"] = args
	return true, unstructured.SetNestedSlice(object.Object, containers, path...)
}
