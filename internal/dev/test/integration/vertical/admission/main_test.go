package admission

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/devclustertest"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness"
	"github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/harness/parts"
	"github.com/plimsoll-dev/plimsoll/internal/webhook/upkeep"
)

const (
	own     = "plimsoll-system"
	account = "plimsoll-admission-controller"
	secret  = "plimsoll-webhook-certs"
)

var shared devclustertest.Shared

func TestMain(m *testing.M) {
	// The server reads where it runs from its environment, which is that of the tests.
	if err := os.Setenv("NAMESPACE", own); err != nil {
		panic(err)
	}
	os.Exit(shared.Main(m))
}

// installation is shared by all tests, once it is there.
var installation struct {
	harness.Installation

	binary, kubeconfig string
}

// namespace is a namespace of a cluster with the vertical objects' definitions and the rights of config/.
func namespace(t *testing.T) *harness.Namespace {
	t.Helper()
	return installation.Namespace(t, &shared, install)
}

func install(ctx context.Context, cluster *devcluster.Cluster) error {
	if err := cluster.InstallDefinitions(ctx); err != nil {
		return err
	}
	if _, err := cluster.InstallPlimsoll(ctx); err != nil {
		return err
	}
	if err := parts.InstallWebhook(ctx, cluster); err != nil {
		return err
	}
	var err error
	if installation.binary, err = parts.Program(ctx); err != nil {
		return err
	}
	if installation.kubeconfig, err = parts.ServiceAccount(cluster, account); err != nil {
		return err
	}
	return parts.NoController(cluster)
}

// server is a running plimsoll admission-controller.
type server struct {
	address, health string
	program         *devcluster.Program
}

// start runs a server until it is registered. It ends with the test.
func start(t *testing.T, s *harness.Namespace, name string, flags ...string) *server {
	t.Helper()
	p := &server{address: parts.FreeAddress(t), health: parts.FreeAddress(t)}
	_, port, err := net.SplitHostPort(p.address)
	if err != nil {
		t.Fatal(err)
	}
	command := append([]string{
		installation.binary, "admission-controller", "--kubeconfig=" + installation.kubeconfig, "--port=" + port,
		"--address=" + p.health, "--v=1",
		"--register-by-url", "--webhook-address=https://127.0.0.1", "--webhook-port=" + port, "--webhook-cert-secret=" +
			secret,
		"--status-lease-update-interval=1s", "--feature-gates=CPUStartupBoost=true",
	}, flags...)
	p.program, err = s.Cluster.StartProgram(t.Context(), name, command,
		func(ctx context.Context) error { return parts.Answers(ctx, "http://"+p.health+"/readyz") })
	if err != nil {
		t.Fatal(err)
	}
	parts.Granted(t, s.Cluster, p.program, name)
	return p
}

// registered waits until the API server sends requests to this server, with its path.
func (p *server) registered(s *harness.Namespace) {
	s.Eventually("the registration", func(ctx context.Context) error {
		configuration, err := registration(ctx, s)
		if err != nil {
			return err
		}
		if url := configuration.Webhooks[0].ClientConfig.URL; url == nil ||
			!strings.HasPrefix(*url, "https://"+p.address+"/") {
			return fmt.Errorf("another server is registered: %v", url)
		}
		return nil
	})
}

func registration(
	ctx context.Context, s *harness.Namespace,
) (*admissionregistrationv1.MutatingWebhookConfiguration, error) {
	configuration, err := s.Client.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(ctx,
		upkeep.ConfigurationName, metav1.GetOptions{})
	if err == nil && len(configuration.Webhooks) == 0 {
		err = errors.New("no webhook in the configuration")
	}
	return configuration, err
}

// unchanged is the number of requests that the server admitted unchanged because of an error.
func (p *server) unchanged(t *testing.T) float64 {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.health+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	family := families["plimsoll_admission_unchanged_total"]
	if family == nil {
		t.Fatal("the metric is not there")
	}
	var sum float64
	for _, series := range family.GetMetric() {
		sum += series.GetCounter().GetValue()
	}
	return sum
}

// shown is the certificate that the server shows now.
func (p *server) shown(t *testing.T) string {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // the test determines its identity
	connection, err := dialer.DialContext(t.Context(), "tcp", p.address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	encrypted, isTLS := connection.(*tls.Conn)
	if !isTLS {
		t.Fatalf("%T is not encrypted", connection)
	}
	return string(encrypted.ConnectionState().PeerCertificates[0].Raw)
}

// soon is a deadline for what takes a few seconds.
const soon = 30 * time.Second
