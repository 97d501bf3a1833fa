package reaction

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
)

// The parameters of ab for one pod: a few connections are enough to keep one worker of nginx busy. The nice value
// leaves the processors to the control plane if both want them: its performance under a load generator is not measured.
const (
	connectionsPerPod = 4
	abNice            = 10
	// ab stops at 50,000 requests if it is given a time alone.
	requestsAtMost = 2_000_000
)

// abLoad loads each ready pod with an ab of its own, straight at its address: no Service needs to be served, and a pod
// gets its share from the moment it is ready.
type abLoad struct {
	client  kubernetes.Interface
	program string
	ends    time.Time

	answered atomic.Int64

	mu     sync.Mutex
	loaded map[string]bool // guarded by mu; addresses
}

// run loads the pods until the time is over.
func (l *abLoad) run(ctx context.Context) (answered int, err error) {
	// The end of the time is no error, and the programs must be waited for: they end by themselves.
	watching, stop := context.WithDeadline(ctx, l.ends)
	defer stop()
	var programs errgroup.Group
	err = l.follow(watching, func(address string) {
		programs.Go(func() error { return l.loadPod(ctx, address) })
	})
	err = errors.Join(err, programs.Wait())
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	return int(l.answered.Load()), err
}

// follow calls start for each pod when it is ready, until the context ends.
func (l *abLoad) follow(ctx context.Context, start func(address string)) error {
	for ctx.Err() == nil {
		watcher, err := l.client.CoreV1().Pods(namespace).Watch(ctx,
			metav1.ListOptions{LabelSelector: labels.Set(podLabels).String()})
		if err != nil {
			if ctx.Err() != nil {
				return nil //nolint:nilerr // the time is over
			}
			return fmt.Errorf("watch the workload's pods: %w", err)
		}
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && ready(pod) && pod.Status.PodIP != "" && l.isNew(pod.Status.PodIP) {
				start(pod.Status.PodIP)
			}
		}
		watcher.Stop()
	}
	return nil
}

func (l *abLoad) isNew(address string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.loaded[address] {
		return false
	}
	l.loaded[address] = true
	return true
}

func (l *abLoad) loadPod(ctx context.Context, address string) error {
	args := abArguments(time.Until(l.ends), address)
	if args == nil {
		return nil
	}
	cmd := exec.CommandContext(ctx, l.program, args...)
	// Ctrl-C on the terminal is for this program, which ends its children.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("ab: %w", err)
	}
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, cmd.Process.Pid, abNice); err != nil &&
		!errors.Is(err, syscall.ESRCH) {
		return errors.Join(fmt.Errorf("ab: nice: %w", err), cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("ab at %s: %w: %s", address, err, strings.TrimSpace(out.String()))
	}
	answered, err := parseAB(out.String())
	if err != nil {
		return err
	}
	l.answered.Add(answered)
	return nil
}

// abArguments returns nil if too little time is left: ab has whole seconds.
func abArguments(left time.Duration, address string) []string {
	seconds := math.Round(left.Seconds())
	if seconds < 1 {
		return nil
	}
	return []string{
		"-q", "-r", "-k", "-t", strconv.FormatFloat(seconds, 'f', 0, 64), "-n", strconv.Itoa(requestsAtMost),
		"-c", strconv.Itoa(connectionsPerPod), "http://" + address + "/",
	}
}

// parseAB reads the number of answered requests in ab's report.
func parseAB(text string) (int64, error) {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, "Complete requests:"); found {
			answered, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("ab's report: %w", err)
			}
			return answered, nil
		}
	}
	return 0, fmt.Errorf("ab's report does not say how many requests were answered: %s", text)
}
