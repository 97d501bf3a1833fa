// Package agents plays the agents of a population's nodes: for each node the agent's own handler, identity and TLS, on
// an address of its own, over a folder in the form of the node's cgroups, whose counters it moves on with each request.
// The controller that is measured finds them by pods, and gives them certificates for tokens of those, as on a node.
package agents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/scale/population"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/cgroup"
	"github.com/plimsoll-dev/plimsoll/internal/nodeagent/selection"
	"github.com/plimsoll-dev/plimsoll/internal/timing"
)

// Config selects the simulated agents.
type Config struct {
	Client kubernetes.Interface
	Size   population.Size
	// UsedSeconds is the CPU time that a pod has used until a time, MemoryBytes what each uses.
	UsedSeconds func(place population.Place, at time.Time) float64
	MemoryBytes int64
	// Given is called after each answer, with the time of its samples.
	Given func(node int, at time.Time)
}

// Agents serve until Close.
type Agents struct {
	config    Config
	directory string
	port      int
	nodes     []*node
	serving   sync.WaitGroup
	// answers counts those with samples; spent is the CPU that they took, in nanoseconds.
	answers, spent atomic.Int64
}

// node is one node's agent.
type node struct {
	number int
	tree   *tree
	// cgroups is the agent's own reader of the tree, sound its usual handler.
	cgroups *cgroup.Tree
	sound   http.Handler
	server  *http.Server

	// mu serializes the requests that move the counters and read them.
	mu sync.Mutex
}

// Start makes the agents' pods and serves. The objects of config/node-agent must be there, and the population.
func Start(ctx context.Context, config Config) (*Agents, error) {
	if err := config.validate(); err != nil {
		return nil, fmt.Errorf("agents of nodes: %w", err)
	}
	a := &Agents{config: config}
	if err := a.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("agents of nodes: %w", err), a.Close())
	}
	return a, nil
}

// otherFiles is the number of open files of this process for anything else, at most a few for each node.
const otherFiles, otherFilesPerNode = 1000, 8

func (c *Config) validate() error {
	if c.Client == nil || c.UsedSeconds == nil || c.Given == nil {
		return errors.New("a client, what pods use and who counts the answers are needed")
	}
	nodes := c.Size.Nodes()
	if nodes > mostNodes {
		return fmt.Errorf("there are addresses for %d, not for %d", mostNodes, nodes)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	if files := uint64(c.Size.Pods()*filesPerContainer + nodes*otherFilesPerNode + otherFiles); files > limit.Cur {
		return fmt.Errorf("those of %d pods need %d open files, this process may have %d", c.Size.Pods(), files, limit.Cur)
	}
	return nil
}

func (a *Agents) start(ctx context.Context) error {
	byNode, err := containersByNode(ctx, a.config.Client, a.config.Size)
	if err != nil {
		return err
	}
	if a.directory, err = os.MkdirTemp(memoryFolder(), "plimsoll-agents-"); err != nil {
		return err
	}
	listeners, port, err := listen(ctx, len(byNode))
	if err != nil {
		return err
	}
	a.port = port
	for number, containers := range byNode {
		if err := a.add(ctx, number, containers, listeners[number]); err != nil {
			return errors.Join(err, closeAll(listeners[number:]))
		}
	}
	return nil
}

// memoryFolder is a file system in memory where there is one: counters that change all the time would keep a disk busy.
func memoryFolder() string {
	const shared = "/dev/shm"
	if info, err := os.Stat(shared); err == nil && info.IsDir() {
		return shared
	}
	return ""
}

// add serves one agent.
func (a *Agents) add(ctx context.Context, number int, containers []container, listener net.Listener) error {
	n := &node{number: number}
	directory := filepath.Join(a.directory, population.NodeName(number))
	var err error
	if n.tree, err = newTree(filepath.Join(directory, "cgroup"), containers, a.config.MemoryBytes); err != nil {
		return err
	}
	a.nodes = append(a.nodes, n)
	if n.cgroups, err = cgroup.Open(cgroup.Config{Directory: filepath.Join(directory, "cgroup")}); err != nil {
		return err
	}
	handler, err := nodeagent.NewHandler(n.cgroups, logr.Discard())
	if err != nil {
		return err
	}
	token, err := createPod(ctx, a.config.Client, number)
	if err != nil {
		return err
	}
	tokenFile := filepath.Join(directory, "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		return err
	}
	identity, err := nodeagent.NewIdentity(nodeagent.IdentityConfig{
		AuthorityFile: a.authorityFile(), TokenFile: tokenFile, Log: logr.Discard(),
	})
	if err != nil {
		return err
	}
	n.server = nodeagent.NewServer(handler, identity, logr.Discard())
	n.sound, n.server.Handler = n.server.Handler, a.handler(n)
	admitted := nodeagent.Listen(listener, identity)
	a.serving.Go(func() { _ = n.server.Serve(admitted) }) // ends with Close
	return nil
}

// handler has the agent itself answer, after moving the counters to where they are now.
func (a *Agents) handler(n *node) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != selection.UsagePath {
			n.sound.ServeHTTP(w, r)
			return
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		at := time.Now()
		n.tree.advance(at, a.config.UsedSeconds)
		observed := &observedWriter{ResponseWriter: w, code: http.StatusOK}
		spent := timing.CPUOf(func() { n.sound.ServeHTTP(observed, r) })
		if observed.code == http.StatusOK {
			a.spent.Add(int64(spent))
			a.answers.Add(1)
			a.config.Given(n.number, at)
		}
	})
}

// observedWriter records the response.
type observedWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader notes the code.
func (w *observedWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// The agents' port is below those that outgoing connections get.
const (
	firstPort = 20000
	lastPort  = 32000
	attempts  = 50
)

// listen listens on all addresses, at the same port.
func listen(ctx context.Context, nodes int) (listeners []net.Listener, port int, err error) {
	for range attempts {
		port = firstPort + rand.IntN(lastPort-firstPort)
		if listeners, err = listenAt(ctx, nodes, port); err == nil {
			return listeners, port, nil
		}
	}
	return nil, 0, err
}

func listenAt(ctx context.Context, nodes, port int) (listeners []net.Listener, err error) {
	var lc net.ListenConfig
	for number := range nodes {
		listener, err := lc.Listen(ctx, "tcp4", net.JoinHostPort(addressOf(number), strconv.Itoa(port)))
		if err != nil {
			return nil, errors.Join(err, closeAll(listeners))
		}
		listeners = append(listeners, listener)
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) error {
	var errs []error
	for _, listener := range listeners {
		errs = append(errs, listener.Close())
	}
	return errors.Join(errs...)
}

// Port is that of all agents.
func (a *Agents) Port() int { return a.port }

// Answers returns the number of responses with samples, and the CPU for reading counters, and for writing and
// compressing the responses. It does not include most of TLS.
func (a *Agents) Answers() (count int64, spent time.Duration) {
	return a.answers.Load(), time.Duration(a.spent.Load())
}

func (a *Agents) authorityFile() string { return filepath.Join(a.directory, authorityKey) }

// LearnAuthority waits until the controller has published the authority of clients, and shows it to the agents, as
// their nodes' kubelets would.
func (a *Agents) LearnAuthority(ctx context.Context) error {
	const retry = 200 * time.Millisecond
	for {
		known, err := a.config.Client.CoreV1().ConfigMaps(Namespace).Get(ctx, authorityMap, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("authority of the agents' clients: %w", err)
		}
		if text := known.Data[authorityKey]; text != "" {
			return os.WriteFile(a.authorityFile(), []byte(text), 0o600)
		}
		if err := timing.Pause(ctx, retry); err != nil {
			return fmt.Errorf("authority of the agents' clients: %w", err)
		}
	}
}

// Close ends the agents and removes their folder. Their pods remain.
func (a *Agents) Close() error {
	var errs []error
	for _, n := range a.nodes {
		if n.server != nil {
			errs = append(errs, n.server.Close())
		}
	}
	a.serving.Wait()
	for _, n := range a.nodes {
		// A request that is under way still writes the counters.
		n.mu.Lock()
		errs = append(errs, n.tree.close())
		n.mu.Unlock()
		if n.cgroups != nil {
			errs = append(errs, n.cgroups.Close())
		}
	}
	if a.directory != "" {
		errs = append(errs, os.RemoveAll(a.directory))
	}
	return errors.Join(errs...)
}
