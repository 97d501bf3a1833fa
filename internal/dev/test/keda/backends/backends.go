// Package backends runs the servers that KEDA's scalers read, from Debian's packages: redis-server, rabbitmq-server,
// postgresql and mariadb-server. They end with the process.
package backends

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	amqp "github.com/rabbitmq/amqp091-go"
)

// Password is that of all servers.
const Password = "correct-horse-battery"

// Trigger is how KEDA reads a queue.
type Trigger struct {
	Type     string
	Metadata map[string]string
	// Secret has the parameters of the TriggerAuthentication.
	Secret map[string]string
}

// Backend is a server with queues.
type Backend interface {
	// Set sets the length of a queue, which it makes if it is missing.
	Set(ctx context.Context, queue string, length int) error
	// Trigger returns how KEDA reads the queue, with the target for each replica.
	Trigger(queue string, perReplica int) Trigger
}

// Start runs a backend for each type of trigger that is tested. The folder is for their files.
func Start(ctx context.Context, folder string) (map[string]Backend, error) {
	all := map[string]Backend{}
	cache, err := startRedis(ctx, filepath.Join(folder, "redis"))
	if err != nil {
		return nil, err
	}
	all["redis"], all["redis-streams"] = cache, &redisStreams{cache}
	for name, start := range map[string]func(context.Context, string) (Backend, error){
		"rabbitmq": startRabbitMQ, "postgresql": startPostgreSQL, "mysql": startMySQL, "metrics-api": startMetricsAPI,
	} {
		if all[name], err = start(ctx, filepath.Join(folder, name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return all, nil
}

// redis has lists.
type redis struct{ port string }

func startRedis(ctx context.Context, folder string) (*redis, error) {
	const server = "redis-server"
	paths, port, err := prepare(ctx, folder, map[string]string{server: server})
	if err != nil {
		return nil, err
	}
	command := lasting(paths[server], "--port", port, "--save", "", "--requirepass", Password)
	command.Dir = folder
	return &redis{port}, serve(ctx, folder, port, command)
}

func (r *redis) script(ctx context.Context, script, queue string, length int) error {
	return run(exec.CommandContext(ctx, "redis-cli", "--no-auth-warning", "-e", "-p", r.port, "-a", Password, "EVAL",
		"redis.call('DEL', KEYS[1]) for i = 1, tonumber(ARGV[1]) do "+script+" end", "1", queue, fmt.Sprint(length)))
}

func (r *redis) address() string { return "127.0.0.1:" + r.port }

func (r *redis) Set(ctx context.Context, queue string, length int) error {
	return r.script(ctx, "redis.call('RPUSH', KEYS[1], i)", queue, length)
}

func (r *redis) Trigger(queue string, perReplica int) Trigger {
	return Trigger{
		Type:     "redis",
		Metadata: map[string]string{"address": r.address(), "listName": queue, "listLength": fmt.Sprint(perReplica)},
		Secret:   map[string]string{"password": Password},
	}
}

type redisStreams struct{ *redis }

func (r *redisStreams) Set(ctx context.Context, queue string, length int) error {
	return r.script(ctx, "redis.call('XADD', KEYS[1], '*', 'n', i)", queue, length)
}

func (r *redisStreams) Trigger(queue string, perReplica int) Trigger {
	return Trigger{
		Type:     "redis-streams",
		Metadata: map[string]string{"address": r.address(), "stream": queue, "streamLength": fmt.Sprint(perReplica)},
		Secret:   map[string]string{"password": Password},
	}
}

type rabbitMQ struct {
	address string

	mu      sync.Mutex
	channel *amqp.Channel // guarded by mu
}

func startRabbitMQ(ctx context.Context, folder string) (Backend, error) {
	const server = "rabbitmq-server"
	paths, port, err := prepare(ctx, folder, map[string]string{server: server})
	if err != nil {
		return nil, err
	}
	distribution, err := freePort(ctx)
	if err != nil {
		return nil, err
	}
	command := lasting(paths[server])
	command.Env = append(os.Environ(), "HOME="+folder, "RABBITMQ_NODENAME=plimsoll"+port+"@localhost",
		"RABBITMQ_NODE_IP_ADDRESS=127.0.0.1", "RABBITMQ_NODE_PORT="+port, "RABBITMQ_DIST_PORT="+distribution,
		"RABBITMQ_MNESIA_BASE="+folder, "RABBITMQ_LOG_BASE="+folder, "RABBITMQ_LOGS=-",
		"RABBITMQ_CONF_ENV_FILE=/dev/null", "RABBITMQ_ENABLED_PLUGINS_FILE="+filepath.Join(folder, "plugins"))
	if err := as("rabbitmq", folder, command); err != nil {
		return nil, err
	}
	if err := serve(ctx, folder, port, command); err != nil {
		return nil, err
	}
	r := &rabbitMQ{address: "amqp://guest:guest@127.0.0.1:" + port + "/"}
	return r, eventually(ctx, func() error {
		connection, err := amqp.Dial(r.address)
		if err != nil {
			return err
		}
		r.channel, err = connection.Channel()
		return err
	})
}

func (r *rabbitMQ) Set(ctx context.Context, queue string, length int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	q, err := r.channel.QueueDeclare(queue, true, false, false, false, nil)
	if err != nil {
		return err
	}
	if q.Messages > length {
		if _, err := r.channel.QueuePurge(queue, false); err != nil {
			return err
		}
		q.Messages = 0
	}
	for range length - q.Messages {
		err := r.channel.PublishWithContext(ctx, "", queue, false, false, amqp.Publishing{Body: []byte("order")})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *rabbitMQ) Trigger(queue string, perReplica int) Trigger {
	return Trigger{
		Type:     "rabbitmq",
		Metadata: map[string]string{"queueName": queue, "mode": "QueueLength", "value": fmt.Sprint(perReplica)},
		Secret:   map[string]string{"host": r.address},
	}
}

// metricsAPI is a server with a JSON document for each queue.
type metricsAPI struct {
	url string

	mu      sync.Mutex
	lengths map[string]int // guarded by mu
}

func startMetricsAPI(context.Context, string) (Backend, error) {
	m := &metricsAPI{lengths: map[string]int{}}
	// It ends with the process.
	m.url = httptest.NewServer(http.HandlerFunc(m.serve)).URL
	return m, nil
}

func (m *metricsAPI) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	length, ok := m.lengths[r.FormValue("queue")]
	if !ok || r.Header.Get("Authorization") != "Bearer "+Password {
		http.Error(w, "no such queue, or not for you", http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"queues": [{"length": %d}]}`, length)
}

func (m *metricsAPI) Set(_ context.Context, queue string, length int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lengths[queue] = length
	return nil
}

func (m *metricsAPI) Trigger(queue string, perReplica int) Trigger {
	return Trigger{
		Type: "metrics-api",
		Metadata: map[string]string{
			"url": m.url + "/?queue=" + queue, "valueLocation": "queues.0.length", "targetValue": fmt.Sprint(perReplica),
			"authMode": "bearer",
		},
		Secret: map[string]string{"token": Password},
	}
}
