package devcluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The names of the parts: of their binaries, processes and logs.
const (
	partEtcd              = "etcd"
	partAPIServer         = "kube-apiserver"
	partControllerManager = "kube-controller-manager"
	partScheduler         = "kube-scheduler"
	partKWOK              = "kwok"
	partMetricsServer     = "metrics-server"
	partKubectl           = "kubectl"
)

// Services get addresses from here; nothing serves them, as nothing runs kube-proxy.
const (
	serviceRange        = "10.96.0.0/16"
	serviceRangeFirstIP = "10.96.0.1"
)

// etcdQuotaBytes is the most that etcd advises: a hundred thousand pods, and their history until it is compacted,
// exceed the 2 GiB of its default.
const etcdQuotaBytes = 8 << 30

// startEtcd runs the store. Losing it with the machine is no loss, so it never waits for the disk.
func (c *components) startEtcd(ctx context.Context) error {
	return onFreePorts(2, func(ports []int) error {
		client, peer := "http://"+Loopback(ports[0]), "http://"+Loopback(ports[1])
		p, err := c.run(partEtcd,
			"--name=devcluster", "--data-dir="+filepath.Join(c.Dir(), "etcd"), "--unsafe-no-fsync", "--log-level=warn",
			fmt.Sprintf("--quota-backend-bytes=%d", etcdQuotaBytes),
			"--listen-client-urls="+client, "--advertise-client-urls="+client,
			"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=devcluster="+peer)
		if err != nil {
			return err
		}
		c.etcdURL = client
		return p.await(ctx, Answers(http.DefaultClient, client+"/health"))
	})
}

// startAPIServer runs kube-apiserver with RBAC and the aggregation layer. There is no endpoint reconciler because
// simulated pods need no address of this machine, and aggregated APIs are reached by their Service's external name
// rather than by endpoints.
func (c *components) startAPIServer(ctx context.Context) error {
	return onFreePorts(1, func(ports []int) error {
		server := "https://" + Loopback(ports[0])
		args := withFlags([]string{
			"--etcd-servers=" + c.etcdURL,
			"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--endpoint-reconciler-type=none", "--enable-aggregator-routing=false",
			"--authorization-mode=Node,RBAC", "--service-cluster-ip-range=" + serviceRange,
			"--allow-privileged=true", "--profiling=false",
			// Nodes come with their conditions, so the taint that waits for a kubelet's first report is in the way.
			"--disable-admission-plugins=TaintNodesByCondition",
			"--client-ca-file=" + c.pki.Path("ca.crt"),
			"--tls-cert-file=" + c.pki.Path("apiserver.crt"), "--tls-private-key-file=" + c.pki.Path("apiserver.key"),
			"--requestheader-client-ca-file=" + c.pki.Path("front-proxy-ca.crt"),
			"--requestheader-allowed-names=front-proxy-client", "--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--proxy-client-cert-file=" + c.pki.Path("front-proxy-client.crt"),
			"--proxy-client-key-file=" + c.pki.Path("front-proxy-client.key"),
			// Logs and forwarded ports, of nodes that have them.
			"--kubelet-client-certificate=" + c.pki.Path("apiserver-kubelet-client.crt"),
			"--kubelet-client-key=" + c.pki.Path("apiserver-kubelet-client.key"),
			"--kubelet-certificate-authority=" + c.pki.Path("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
			"--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-key-file=" + c.pki.Path("service-account.pub"),
			"--service-account-signing-key-file=" + c.pki.Path("service-account.key"),
		}, c.config.APIServerFlags)
		p, err := c.run(partAPIServer, args...)
		if err != nil {
			return err
		}
		c.server, c.apiServer = server, p
		return c.awaitAPIServer(ctx)
	})
}

func (c *components) awaitAPIServer(ctx context.Context) error {
	return c.apiServer.await(ctx, Answers(c.anonymousClient(), c.server+"/readyz"))
}

// withoutEndpoints leaves out what makes endpoints of Services, which nothing reads on simulated nodes. The API server
// refuses endpoints with addresses in 127.0.0.0/8, as pods with metrics of their own have: they would be tried again
// and again.
const withoutEndpoints = ",-endpoints-controller,-endpointslice-controller,-endpointslice-mirroring-controller"

// startControllerManager runs kube-controller-manager; extra flags replace those of the same name.
func (c *components) startControllerManager(ctx context.Context, extra []string) (*process, error) {
	controllers := "*"
	if !c.config.HPAController {
		controllers += ",-horizontal-pod-autoscaler-controller"
	}
	if c.config.Kubelets {
		controllers += withoutEndpoints
	}
	flags := withFlags([]string{
		"--controllers=" + controllers, "--use-service-account-credentials=true",
		"--root-ca-file=" + c.pki.Path("ca.crt"),
		"--service-account-private-key-file=" + c.pki.Path("service-account.key"),
		// The default allows 20 requests a second, which a Deployment that scales to hundreds of pods exhausts.
		"--kube-api-qps=200", "--kube-api-burst=400",
	}, extra)
	return c.startWithKubeconfig(ctx, partControllerManager, flags)
}

func (c *components) startScheduler(ctx context.Context) error {
	_, err := c.startWithKubeconfig(ctx, partScheduler, []string{"--kube-api-qps=200", "--kube-api-burst=400"})
	return err
}

// startWithKubeconfig runs one of Kubernetes' control loops as the user system:<name>. One instance needs no election.
func (c *components) startWithKubeconfig(ctx context.Context, name string, flags []string) (*process, error) {
	kubeconfig, err := c.pki.WriteKubeconfig(c.server, "system:"+name)
	if err != nil {
		return nil, err
	}
	if err := c.pki.WriteServer(name, "127.0.0.1"); err != nil {
		return nil, err
	}
	var p *process
	err = onFreePorts(1, func(ports []int) error {
		args := withFlags([]string{
			"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig, "--leader-elect=false", "--profiling=false",
			"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports[0]),
			"--tls-cert-file=" + c.pki.Path(name+".crt"), "--tls-private-key-file=" + c.pki.Path(name+".key"),
		}, flags)
		if p, err = c.run(name, args...); err != nil {
			return err
		}
		return p.await(ctx, Answers(c.anonymousClient(), "https://"+Loopback(ports[0])+"/healthz"))
	})
	return p, err
}

// run starts a part from the folder of binaries.
func (c *components) run(name string, args ...string) (*process, error) {
	return c.supervisor.start(name, filepath.Join(c.config.BinDir, name), args)
}

// anonymousClient trusts the cluster's authority and shows no certificate: enough for health endpoints. It keeps no
// connections, which a part that ends would leave behind.
func (c *components) anonymousClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{RootCAs: c.pki.CA().Pool(), MinVersion: tls.VersionTLS12},
	}}
}

// Answers returns a readiness check that passes when a GET answers 200.
func Answers(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("readiness check: %w", err)
		}
		response, err := client.Do(request)
		if err != nil {
			return fmt.Errorf("readiness check: %w", err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, 2000))
		if err != nil {
			return fmt.Errorf("readiness check: %w", err)
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s: %s", url, response.Status, body)
		}
		return nil
	}
}

// withFlags adds flags, which replace those of the same name: a flag that is a list, given twice, would add up.
func withFlags(flags, extra []string) []string {
	replaced := map[string]bool{}
	for _, flag := range extra {
		replaced[flagName(flag)] = true
	}
	kept := slices.DeleteFunc(slices.Clone(flags), func(flag string) bool { return replaced[flagName(flag)] })
	return append(kept, extra...)
}

func flagName(flag string) string {
	name, _, _ := strings.Cut(flag, "=")
	return name
}
