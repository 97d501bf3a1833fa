package vertical

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/plimsoll-dev/plimsoll/internal/decide/vertical/divergence"
	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/exposition"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster"
)

// launcher starts subjects on one cluster.
type launcher struct {
	Config
	cluster *devcluster.Cluster
	// upstream and plimsoll are kubeconfigs of service accounts, which the API server treats alike.
	upstream, plimsoll string
	client             *http.Client
}

// upstreamAccount has all rights: what upstream's manifests grant is not to be kept here.
const upstreamAccount = "vpa"

func newLauncher(ctx context.Context, config Config, cluster *devcluster.Cluster) (*launcher, error) {
	l := &launcher{
		Config: config, cluster: cluster, client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	}
	var err error
	if l.plimsoll, err = cluster.InstallPlimsoll(ctx); err != nil {
		return nil, err
	}
	user := "system:serviceaccount:kube-system:" + upstreamAccount
	if l.upstream, err = cluster.KubeconfigFor(user, "system:serviceaccounts",
		"system:serviceaccounts:kube-system", "system:authenticated"); err != nil {
		return nil, err
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "upstream-vpa"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: upstreamAccount}},
	}
	_, err = cluster.Client().RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, fmt.Errorf("rights of upstream: %w", err)
	}
	return l, nil
}

// command is one process of a subject.
type command struct {
	name string
	args []string
	// address is the flag of the address of its metrics.
	address string
}

// commands are a subject's processes. The updaters act without an admission controller: new pods come back as they
// were.
func (l *launcher) commands(kind Kind) []command {
	const without, internal = "use-admission-controller-status=false", "--kubelet-preferred-address-types=InternalIP"
	// Pods that come back as they were are evicted again, as many as upstream evicts.
	bulk := "divergences=" + (divergence.Default &^ divergence.CircuitBreaker &^ divergence.ClusterBudget).String()
	const metrics = "metrics-bind-address"
	alone := []string{"--leader-elect=false", "--health-probe-bind-address=0", "--inspection-bind-address=0"}
	upstream, plimsoll := "--kubeconfig="+l.upstream, "--kubeconfig="+l.plimsoll
	switch kind {
	case Upstream:
		return []command{
			{"upstream-recommender", []string{l.Recommender, upstream}, "address"},
			{"upstream-updater", []string{l.Updater, upstream, "--" + without}, "address"},
		}
	case PlimsollAlone:
		return []command{
			{"plimsoll-recommender", append([]string{l.Plimsoll, "controller", "--components=recommender", plimsoll, internal},
				alone...), metrics},
			{"plimsoll-updater", append([]string{
				l.Plimsoll, "controller", "--components=updater", plimsoll, "--updater-" + without, "--vertical-" + bulk,
			}, alone...), metrics},
		}
	default:
		return []command{{"plimsoll-controller", append([]string{
			l.Plimsoll, "controller", plimsoll, internal, "--updater-" + without, "--vertical-" + bulk,
		}, alone...), metrics}}
	}
}

// running is a subject that runs.
type running struct {
	programs []*devcluster.Program
	pages    []string // URLs
	client   *http.Client
}

func (l *launcher) start(ctx context.Context, subject Subject) (*running, error) {
	commands := l.commands(subject.Kind)
	ports, err := devcluster.FreePorts(len(commands))
	if err != nil {
		return nil, err
	}
	r := &running{client: l.client}
	for i, c := range commands {
		address := devcluster.Loopback(ports[i])
		page := "http://" + address + "/metrics"
		args := append(append(c.args, "--"+c.address+"="+address), subject.Flags...)
		program, err := l.cluster.StartProgram(ctx, c.name, args, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := exposition.Fetch(ctx, l.client, page)
			return err
		})
		if err != nil {
			r.stop(ctx)
			return nil, fmt.Errorf("start %s: %w", c.name, err)
		}
		r.programs, r.pages = append(r.programs, program), append(r.pages, page)
	}
	return r, nil
}

func (r *running) stop(ctx context.Context) {
	for _, program := range r.programs {
		program.Stop(ctx)
	}
}

// say sums up the processes' own metrics.
func (r *running) say(ctx context.Context) (own, error) {
	var sum own
	if len(r.pages) == 0 {
		return sum, errors.New("nothing runs")
	}
	for _, url := range r.pages {
		page, err := exposition.Fetch(ctx, r.client, url)
		if err != nil {
			return sum, err
		}
		sum.add(page)
	}
	for _, program := range r.programs {
		anonymous, err := anonymousBytes(program.PID())
		if err != nil {
			return sum, err
		}
		sum.anonymousBytes += anonymous
	}
	sum.at = time.Now()
	return sum, nil
}

// anonymousBytes is the memory of a process without files: it omits the program's own text, which the system can drop
// and read again.
func anonymousBytes(pid int) (float64, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return 0, fmt.Errorf("memory of a process: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == "RssAnon:" && fields[2] == "kB" {
			kibibytes, err := strconv.ParseFloat(fields[1], 64)
			return kibibytes * 1024, err
		}
	}
	return 0, errors.New("memory of a process: no RssAnon in its status")
}
