// Package leader reads the history of an object from the controller that decides
// on it, through pods/portforward, this machine's loopback address or a given one.
package leader

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/explain/apierror"
	"github.com/plimsoll-dev/plimsoll/internal/loadhistory"
	"github.com/plimsoll-dev/plimsoll/internal/observe"
	snapshothorizontal "github.com/plimsoll-dev/plimsoll/internal/snapshot/horizontal"
	snapshotvertical "github.com/plimsoll-dev/plimsoll/internal/snapshot/vertical"
)

// DefaultPort is where the controller serves its history, on its pod's loopback address.
const DefaultPort = 8082

const (
	// maxBytes bounds a response: 10,000 pods with their samples take less.
	maxBytes = 64 << 20
	// forwardTimeout is for opening the connection to the pod.
	forwardTimeout = 10 * time.Second
	// answerTimeout is longer than the controller waits for a decision.
	answerTimeout = 30 * time.Second
)

// Finder finds the replica that leads.
type Finder struct {
	Client kubernetes.Interface
	Config *rest.Config
	// Namespace and Lease are those of the controller's leader election.
	Namespace, Lease string
	Port             int
	// Address is the controller's inspection address; empty finds the controller by its
	// Lease.
	Address string
}

// Next returns the inputs of the controller's next decision on the object. The error is a short sentence about why they
// cannot be read.
func (f *Finder) Next(ctx context.Context, object observe.Key) (step *snapshothorizontal.Step, err error) {
	err = f.ask(ctx, object, "snapshot", func(body io.Reader, _ http.Header) error {
		step, err = snapshothorizontal.NewReader(body).Next()
		return err
	})
	return step, err
}

// UpdaterState returns the updater's history of the object, and its flags.
func (f *Finder) UpdaterState(ctx context.Context, object types.NamespacedName) (*snapshotvertical.Snapshot, error) {
	var state snapshotvertical.Snapshot
	read := func(body io.Reader, _ http.Header) error { return json.NewDecoder(body).Decode(&state) }
	err := f.ask(ctx, observe.VPA(object), "updater", read)
	if err != nil {
		return nil, err
	}
	return &state, nil
}

// maxHistoryBytes bounds an encoded history: several times the largest one.
const maxHistoryBytes = 64 << 10

// History returns the recorded load of the object, as internal/loadhistory encodes it. It is not whole if the
// controller has not read the object's checkpoint, which may have an earlier load.
func (f *Finder) History(ctx context.Context, object observe.Key) (encoded []byte, isWhole bool, err error) {
	err = f.ask(ctx, object, "history", func(body io.Reader, header http.Header) error {
		isWhole = header.Get("Plimsoll-History") != "since-start"
		encoded, err = io.ReadAll(io.LimitReader(body, maxHistoryBytes+1))
		if err == nil && len(encoded) > maxHistoryBytes {
			err = fmt.Errorf("a history of more than %d KiB", maxHistoryBytes>>10)
		}
		return err
	})
	return encoded, isWhole, err
}

// MetricHistories returns the recorded load of each metric of the object; none for a single metric.
func (f *Finder) MetricHistories(ctx context.Context, object observe.Key) (all []loadhistory.EncodedMetric, err error) {
	err = f.ask(ctx, object, "metric-histories", func(body io.Reader, _ http.Header) error {
		return json.NewDecoder(io.LimitReader(body, maxHistoryBytes)).Decode(&all)
	})
	return all, err
}

// reading reads a response.
type reading func(body io.Reader, header http.Header) error

func (f *Finder) ask(ctx context.Context, object observe.Key, what string, read reading) error {
	leader, err := f.reach(ctx)
	if err != nil {
		return err
	}
	defer leader.stop()
	return leader.fetch(ctx, fmt.Sprintf("http://%s/%s/%s/%s/%s", leader.address, object.Kind.Resource(),
		url.PathEscape(object.Namespace), url.PathEscape(object.Name), what), read)
}

// reached has the leader's inspection address, and the transport to it, until it is stopped.
type reached struct {
	address string
	through http.RoundTripper
	stop    func()
}

// reach finds the leader's inspection address. A leader on this machine serves on the loopback
// address. The Lease only decides whether the host is this one; it never provides an address.
func (f *Finder) reach(ctx context.Context) (*reached, error) {
	direct := &reached{address: f.Address, through: http.DefaultTransport, stop: func() {}}
	if f.Address != "" {
		return direct, nil
	}
	host, err := f.host(ctx)
	if err != nil {
		return nil, err
	}
	direct.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(f.Port))
	if own, err := os.Hostname(); err == nil && own == host {
		return direct, nil
	}
	return f.forward(ctx, host)
}

// host returns the host name of the Lease's holder, in a cluster its pod's name: controller-runtime writes it with an
// identifier.
func (f *Finder) host(ctx context.Context) (string, error) {
	lease, err := f.Client.CoordinationV1().Leases(f.Namespace).Get(ctx, f.Lease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return "", &cmderror.Error{What: fmt.Sprintf("there is no Lease %s/%s", f.Namespace, f.Lease),
			Next: "where Plimsoll is not installed there is none; if its controller runs elsewhere, name that " +
				"with --controller-namespace and --controller-lease", Cause: err}
	case err != nil:
		return "", apierror.Request{Verb: "get", Resource: "leases.coordination.k8s.io",
			Namespace: f.Namespace, Name: f.Lease}.Sentence(err)
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "":
		return "", &cmderror.Error{What: fmt.Sprintf("no controller holds the Lease %s/%s", f.Namespace, f.Lease),
			Next: "is one running? plimsoll doctor examines that"}
	}
	name, _, _ := strings.Cut(*lease.Spec.HolderIdentity, "_")
	return name, nil
}

// fetch follows no redirect: the controller sends none, and another program on its port could redirect explain
// anywhere.
func (l *reached) fetch(ctx context.Context, from string, read reading) error {
	client := http.Client{
		Transport:     l.through,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return &cmderror.Error{
			What: fmt.Sprintf("the controller does not answer at %s (%v)", request.URL.Host, unwrapped(err)),
			Next: "pass its --inspection-bind-address as --controller-address", Cause: err,
		}
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxBytes)
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 1<<10)) // the status is enough without it
		return errors.New(strings.TrimSpace(fmt.Sprintf("the controller answers %d: %s", response.StatusCode, text)))
	}
	if err := read(body, response.Header); err != nil {
		return fmt.Errorf("the controller's answer: %w", err)
	}
	return nil
}

// unwrapped returns the error without the method and the URL.
func unwrapped(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
