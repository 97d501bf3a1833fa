package recommender

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	vpav1 "github.com/plimsoll-dev/plimsoll/api/autoscaling/v1"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/kube/vpa"
)

// An interval of seconds, and a floor that is out of the way.
var flags = []string{
	"--recommender-interval=3s", "--pod-recommendation-min-cpu-millicores=1", "--pod-recommendation-min-memory-mb=1",
	"--resource-metrics-source=auto", "--feature-gates=PerVPAConfig=true",
}

var shared devclustertest.Shared

func TestMain(m *testing.M) {
	shared.Config = devcluster.Config{MetricsServer: true}
	os.Exit(shared.Main(m))
}

// installation is shared by all tests, once it is there.
var installation struct {
	harness.Installation

	plimsoll *harness.Plimsoll
	client   *vpa.Client
}

// The log's words.
const (
	waiting = "vertical autoscaling is off until the definitions of its objects are installed"
	started = `msg="recommender started"`
)

// namespace is a namespace of a cluster in which Plimsoll recommends.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, install)
}

// install starts Plimsoll on a cluster that does not serve vertical autoscalers yet: it has to wait for them.
func install(ctx context.Context, cluster *devcluster.Cluster) error {
	in := &installation
	var err error
	if in.client, err = vpa.New(cluster.RESTConfig()); err != nil {
		return err
	}
	if in.plimsoll, err = harness.NewPlimsoll(ctx, cluster); err != nil {
		return err
	}
	if err := in.plimsoll.Start(ctx, flags...); err != nil {
		return err
	}
	if err := awaitLog(ctx, cluster, waiting, 1); err != nil {
		return err
	}
	if err := cluster.InstallDefinitions(ctx); err != nil {
		return err
	}
	return awaitLog(ctx, cluster, started, 1)
}

// awaitLog waits until the log has the text so often since the start.
func awaitLog(ctx context.Context, cluster *devcluster.Cluster, words string, times int) error {
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, harness.Long, true,
		func(context.Context) (bool, error) {
			content, err := os.ReadFile(cluster.LogPath("plimsoll"))
			return strings.Count(string(content), words) >= times, err
		})
	if err != nil {
		return fmt.Errorf("the log does not say %q %d times: %w", words, times, err)
	}
	return nil
}

// startOwn runs a controller for the objects that ownRecommender names. The test can restart it: tests beside it have
// the cluster's.
func startOwn(t *testing.T, s *harness.Namespace) *harness.Instance {
	t.Helper()
	own := append(slices.Clone(flags), "--leader-elect=false", "--recommender-name="+s.Name, "--vpa-object-namespace="+
		s.Name)
	return installation.plimsoll.StartInstance(t, "controller-"+s.Name, own...)
}

// ownRecommender is a line of an object's spec.
func ownRecommender(s *harness.Namespace) string {
	return fmt.Sprintf("  recommenders: [{name: %s}]\n", s.Name)
}

// autoscaler creates an object for a Deployment of this name; more is YAML below spec.
func autoscaler(s *harness.Namespace, name, target, more string) {
	s.KubectlInput(fmt.Sprintf(`
apiVersion: autoscaling.k8s.io/v1
kind: VerticalPodAutoscaler
metadata:
  name: %s
spec:
  targetRef: {apiVersion: apps/v1, kind: Deployment, name: %s}
%s`, name, target, more), "apply", "-f", "-")
}

// get reads an object.
func get(ctx context.Context, s *harness.Namespace, name string) (*vpav1.VerticalPodAutoscaler, error) {
	return installation.client.Get(ctx, s.Name, name)
}

// target returns the recommendation for the container app.
func target(ctx context.Context, s *harness.Namespace, name string) (cpuMilli, memoryBytes int64, err error) {
	object, err := get(ctx, s, name)
	if err != nil {
		return 0, 0, err
	}
	if object.Status.Recommendation == nil {
		return 0, 0, errors.New("nothing is recommended")
	}
	for _, c := range object.Status.Recommendation.ContainerRecommendations {
		if c.ContainerName == "app" {
			return c.Target.Cpu().MilliValue(), c.Target.Memory().Value(), nil
		}
	}
	return 0, 0, fmt.Errorf("nothing is recommended for the container: %v", object.Status.Recommendation)
}

// awaitCPU waits until the target is between two numbers of thousandths.
func awaitCPU(s *harness.Namespace, name string, least, most int64) {
	s.Eventually(fmt.Sprintf("a CPU target from %dm to %dm", least, most), func(ctx context.Context) error {
		cpu, _, err := target(ctx, s, name)
		if err == nil && (cpu < least || cpu > most) {
			err = fmt.Errorf("it is %dm", cpu)
		}
		return err
	})
}

// awaitCondition waits until a condition is true with these words.
func awaitCondition(s *harness.Namespace, name, kind, words string) {
	s.Eventually(name+" has "+kind, func(ctx context.Context) error {
		object, err := get(ctx, s, name)
		if err != nil {
			return err
		}
		for _, c := range object.Status.Conditions {
			if string(c.Type) == kind && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, words) {
				return nil
			}
		}
		return fmt.Errorf("it has %v", object.Status.Conditions)
	})
}

// checkpoint reads the checkpoint of an object's container app.
func checkpoint(
	ctx context.Context, s *harness.Namespace, name string,
) (*vpav1.VerticalPodAutoscalerCheckpoint, error) {
	var found *vpav1.VerticalPodAutoscalerCheckpoint
	err := installation.client.EachCheckpoint(ctx, s.Name, func(c *vpav1.VerticalPodAutoscalerCheckpoint) {
		if c.Name == name+"-app" {
			found = c
		}
	})
	if err == nil && found == nil {
		err = errors.New("there is none")
	}
	return found, err
}
