//go:build backends

package backends

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	pb "github.com/kedacore/keda/v2/pkg/scalers/externalscaler"
	amqp "github.com/rabbitmq/amqp091-go"
	clientv3 "go.etcd.io/etcd/client/v3"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientsetfake "k8s.io/client-go/kubernetes/fake"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/plimsoll-dev/plimsoll/scalers/internal/build"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/job"
	"github.com/plimsoll-dev/plimsoll/scalers/internal/worker"
)

// password is in the Secret that the TriggerAuthentication names, and may be in no error.
const password = "correct-horse-battery"

// backend is one metric of one server.
type backend struct {
	worker *worker.Worker
	ref    *pb.ScaledObjectRef
}

// read makes the backend of a trigger, whose secret has these parameters.
func read(t *testing.T, trigger string, metadata, secret map[string]string, objects ...runtime.Object) *backend {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kedav1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	j := job.Job{
		Namespace: "shop", Object: "jobs", Metric: "queue", Scaler: job.Scaler{Type: trigger, Metadata: metadata},
		Target: job.Target{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
	}
	objects = append(objects, deployment())
	if secret != nil {
		j.Scaler.AuthenticationRef = &job.AuthenticationRef{Name: "auth"}
		data, auth := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "secret"}},
			&kedav1alpha1.TriggerAuthentication{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "auth"}}
		data.Data = map[string][]byte{}
		for key, value := range secret {
			data.Data[key] = []byte(value)
			auth.Spec.SecretTargetRef = append(auth.Spec.SecretTargetRef,
				kedav1alpha1.AuthSecretTargetRef{Parameter: key, Name: "secret", Key: key})
		}
		objects = append(objects, data, auth)
	}
	b := &build.Builder{
		Client:    fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...).Build(),
		Clientset: clientsetfake.NewClientset(), HTTPTimeout: 3 * time.Second, Log: logr.Discard(),
	}
	return &backend{
		worker: worker.New(worker.Config{Build: b.Build, Log: logr.Discard(), Exit: func() { t.Error("the process ends") }}),
		ref: &pb.ScaledObjectRef{
			Namespace: j.Namespace, Name: j.Object, ScalerMetadata: map[string]string{job.JobKey: j.Encode()},
		},
	}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "web", Env: []corev1.EnvVar{{Name: "REDIS_PASSWORD", Value: password}},
		}}}}},
	}
}

// once requests the metric as the controller does at each interval.
func (b *backend) once(ctx context.Context) (value, target float64, isActive bool, err error) {
	specs, err := b.worker.GetMetricSpec(ctx, b.ref)
	if err != nil {
		return 0, 0, false, err
	}
	if len(specs.GetMetricSpecs()) != 1 {
		return 0, 0, false, fmt.Errorf("%d metrics", len(specs.GetMetricSpecs()))
	}
	spec := specs.GetMetricSpecs()[0]
	values, err := b.worker.GetMetrics(ctx, &pb.GetMetricsRequest{ScaledObjectRef: b.ref, MetricName: spec.GetMetricName()})
	if err != nil {
		return 0, 0, false, err
	}
	active, err := b.worker.IsActive(ctx, b.ref)
	if err != nil {
		return 0, 0, false, err
	}
	return values.GetMetricValues()[0].GetMetricValueFloat(), spec.GetTargetSizeFloat(), active.GetResult(), nil
}

// expect waits until the metric has the value: some servers count with a delay.
func (b *backend) expect(t *testing.T, want, wantTarget float64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		value, target, isActive, err := b.once(ctx)
		if err == nil && value == want && target == wantTarget && isActive == (want > 0) {
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("value %v, target %v, active %v, %v; want %v, %v, %v", value, target, isActive, err, want, wantTarget,
				want > 0)
		}
	}
}

// expectError waits until the metric cannot be read.
func (b *backend) expectError(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		_, _, _, err := b.once(t.Context())
		if err != nil && strings.Contains(err.Error(), password) {
			t.Errorf("the password is in %q", err)
		}
		return err != nil
	})
}

func eventually(t *testing.T, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.After(time.Minute); !condition(); {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatal("not within a minute")
		}
	}
}

func TestRedis(t *testing.T) {
	port := freePort(t)
	server := program(t, "redis-server", "redis-server")
	command := exec.Command(server, "--port", port, "--save", "", "--requirepass", password)
	command.Dir = t.TempDir()
	serve(t, port, command)
	cli := func(args ...string) {
		run(t, exec.Command("redis-cli", append([]string{"--no-auth-warning", "-p", port, "-a", password}, args...)...))
	}
	list := read(t, "redis", map[string]string{
		"address": "127.0.0.1:" + port, "listName": "orders", "listLength": "5", "passwordFromEnv": "REDIS_PASSWORD",
	}, nil)
	list.expect(t, 0, 5)
	cli("RPUSH", "orders", "a", "b", "c")
	list.expect(t, 3, 5)
	stream := read(t, "redis-streams", map[string]string{
		"address": "127.0.0.1:" + port, "stream": "events", "consumerGroup": "workers", "pendingEntriesCount": "2",
	}, map[string]string{"password": password})
	cli("XGROUP", "CREATE", "events", "workers", "$", "MKSTREAM")
	stream.expect(t, 0, 2)
	for range 4 {
		cli("XADD", "events", "*", "k", "v")
	}
	cli("XREADGROUP", "GROUP", "workers", "one", "COUNT", "4", "STREAMS", "events", ">")
	stream.expect(t, 4, 2)
	cli("DEL", "orders")
	list.expect(t, 0, 5)
	wrong := read(t, "redis", map[string]string{"address": "127.0.0.1:" + port, "listName": "orders"},
		map[string]string{"password": password + "-old"})
	wrong.expectError(t)
	run(t, exec.Command("redis-cli", "--no-auth-warning", "-p", port, "-a", password, "SHUTDOWN", "NOSAVE"))
	list.expectError(t)
}

func TestRabbitMQ(t *testing.T) {
	port, folder := freePort(t), t.TempDir()
	command := exec.Command(program(t, "rabbitmq-server", "rabbitmq-server"))
	command.Env = append(os.Environ(), "HOME="+folder, "RABBITMQ_NODENAME=plimsoll"+port+"@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+port, "RABBITMQ_DIST_PORT="+freePort(t),
		"RABBITMQ_MNESIA_BASE="+folder, "RABBITMQ_LOG_BASE="+folder, "RABBITMQ_LOGS=-",
		"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(folder, "plugins"))
	serve(t, port, as(t, "rabbitmq", folder, command))
	address := "amqp://guest:guest@127.0.0.1:" + port + "/"
	connection, err := amqp.Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	channel, err := connection.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.QueueDeclare("orders", true, false, false, false, nil); err != nil {
		t.Fatal(err)
	}
	queue := read(t, "rabbitmq", map[string]string{"queueName": "orders", "mode": "QueueLength", "value": "20"},
		map[string]string{"host": address})
	queue.expect(t, 0, 20)
	for range 7 {
		err := channel.PublishWithContext(t.Context(), "", "orders", false, false, amqp.Publishing{Body: []byte("order")})
		if err != nil {
			t.Fatal(err)
		}
	}
	queue.expect(t, 7, 20)
	if _, err := channel.QueuePurge("orders", false); err != nil {
		t.Fatal(err)
	}
	queue.expect(t, 0, 20)
	if _, err := channel.QueueDelete("orders", false, false, false); err != nil {
		t.Fatal(err)
	}
	queue.expectError(t)
}

func TestPostgreSQL(t *testing.T) {
	port, folder := freePort(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "password"), []byte(password), 0o644); err != nil { //nolint:gosec // a test's
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	run(t, as(t, "postgres", folder, exec.Command(program(t, "initdb", "postgresql"), "-D", data, "-U", "shop", "-A", "md5",
		"--pwfile", filepath.Join(folder, "password"))))
	serve(t, port, as(t, "postgres", folder, exec.Command(program(t, "postgres", "postgresql"), "-D", data, "-p", port,
		"-k", folder, "-c", "listen_addresses=127.0.0.1")))
	client := func(text string) *exec.Cmd {
		command := exec.Command(program(t, "psql", "postgresql-client"), "-h", "127.0.0.1", "-p", port, "-U", "shop",
			"-d", "postgres", "-c", text)
		command.Env = append(os.Environ(), "PGPASSWORD="+password)
		return command
	}
	// It listens before it serves.
	eventually(t, func() bool { return client("select 1").Run() == nil })
	sql := func(text string) { run(t, client(text)) }
	sql("create table tasks (state text)")
	tasks := read(t, "postgresql", map[string]string{
		"host": "127.0.0.1", "port": port, "userName": "shop", "dbName": "postgres", "sslmode": "disable",
		"query": "select count(*) from tasks where state = 'open'", "targetQueryValue": "2.5",
	}, map[string]string{"password": password})
	tasks.expect(t, 0, 2.5)
	sql("insert into tasks select 'open' from generate_series(1, 11)")
	tasks.expect(t, 11, 2.5)
	sql("drop table tasks")
	tasks.expectError(t)
}

func TestMySQL(t *testing.T) {
	port, folder := freePort(t), t.TempDir()
	data := filepath.Join(folder, "data")
	install := exec.Command(program(t, "mariadb-install-db", "mariadb-server"), "--no-defaults", "--datadir="+data,
		"--auth-root-authentication-method=normal", "--skip-test-db")
	run(t, as(t, "mysql", folder, install))
	serve(t, port, as(t, "mysql", folder, exec.Command(program(t, "mariadbd", "mariadb-server"), "--no-defaults",
		"--datadir="+data, "--port="+port, "--bind-address=127.0.0.1", "--socket="+filepath.Join(folder, "socket"),
		"--pid-file="+filepath.Join(folder, "pid"))))
	sql := func(text string) {
		run(t, exec.Command(program(t, "mariadb", "mariadb-client"), "--no-defaults", "-h", "127.0.0.1", "-P", port, "-u",
			"root", "--skip-ssl", "-e", text))
	}
	sql("create database shop; create table shop.tasks (id int); create user w@'127.0.0.1' identified by '" + password +
		"'; grant select on shop.* to w@'127.0.0.1'")
	tasks := read(t, "mysql", map[string]string{
		"host": "127.0.0.1", "port": port, "username": "w", "dbName": "shop", "query": "select count(*) from tasks",
		"queryValue": "4",
	}, map[string]string{"password": password})
	tasks.expect(t, 0, 4)
	sql("insert into shop.tasks values (1), (2), (3)")
	tasks.expect(t, 3, 4)
	sql("drop table shop.tasks")
	tasks.expectError(t)
}

func TestEtcd(t *testing.T) {
	port := freePort(t)
	address := "http://127.0.0.1:" + port
	serve(t, port, exec.Command(part(t, "etcd"), "--data-dir", t.TempDir(), "--listen-client-urls", address,
		"--advertise-client-urls", address, "--listen-peer-urls", "http://127.0.0.1:"+freePort(t)))
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	depth := read(t, "etcd", map[string]string{"endpoints": address, "watchKey": "depth", "value": "5"}, nil)
	depth.expectError(t)
	for _, n := range []float64{0, 9} {
		if _, err := client.Put(t.Context(), "depth", fmt.Sprint(n)); err != nil {
			t.Fatal(err)
		}
		depth.expect(t, n, 5)
	}
}

func TestPrometheus(t *testing.T) {
	port, folder := freePort(t), t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "prometheus.yml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	serve(t, port, exec.Command(part(t, "prometheus"), "--config.file", filepath.Join(folder, "prometheus.yml"),
		"--storage.tsdb.path", folder, "--web.listen-address", "127.0.0.1:"+port))
	for query, want := range map[string]float64{"vector(42)": 42, "sum(vector(0))": 0} {
		read(t, "prometheus", map[string]string{
			"serverAddress": "http://127.0.0.1:" + port, "query": query, "threshold": "10",
		}, nil).expect(t, want, 10)
	}
	read(t, "prometheus", map[string]string{
		"serverAddress": "http://127.0.0.1:" + port, "query": "sum(", "threshold": "10",
	}, nil).expectError(t)
}

func TestMetricsAPI(t *testing.T) {
	var depth atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+password {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"queues": [{"depth": %d}]}`, depth.Load())
	}))
	defer server.Close()
	metadata := map[string]string{
		"url": server.URL, "valueLocation": "queues.0.depth", "targetValue": "8", "authMode": "bearer",
	}
	queue := read(t, "metrics-api", metadata, map[string]string{"token": password})
	queue.expect(t, 0, 8)
	depth.Store(17)
	queue.expect(t, 17, 8)
	read(t, "metrics-api", metadata, map[string]string{"token": password + "-old"}).expectError(t)
}

func TestCron(t *testing.T) {
	now := time.Now().UTC()
	from := now.Add(-time.Hour)
	open := read(t, "cron", map[string]string{
		"timezone": "UTC", "start": fmt.Sprintf("%d %d * * *", from.Minute(), from.Hour()),
		"end": fmt.Sprintf("%d %d * * *", now.Add(time.Hour).Minute(), now.Add(time.Hour).Hour()), "desiredReplicas": "6",
	}, nil)
	open.expect(t, 6, 1)
}

func TestKubernetesWorkload(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"app": "front"}},
			Status:     corev1.PodStatus{Phase: phase},
		}
	}
	read(t, "kubernetes-workload", map[string]string{"podSelector": "app=front", "value": "2"}, nil,
		pod("a", corev1.PodRunning), pod("b", corev1.PodRunning), pod("c", corev1.PodSucceeded)).expect(t, 2, 2)
}

// TestMistakes has what people get wrong: each error names what is wrong, and none a secret.
func TestMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		trigger  string
		metadata map[string]string
		secret   map[string]string
		want     string
	}{
		"missing field": {"redis", map[string]string{"address": "127.0.0.1:1"}, nil, "listName"},
		"no number":     {"redis", map[string]string{"address": "127.0.0.1:1", "listName": "a", "listLength": "x"}, nil, "listLength"},
		"unknown type":  {"kafkaa", nil, nil, "no such trigger"},
		"secret in a connection string": {
			"postgresql", map[string]string{"query": "select 1", "targetQueryValue": "1"},
			map[string]string{"connection": "postgres://u:" + password + "@127.0.0.1:1/x?sslmode=bogus"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, _, err := read(t, test.trigger, test.metadata, test.secret).once(t.Context())
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), password) {
				t.Errorf("got %v", err)
			}
		})
	}
}
