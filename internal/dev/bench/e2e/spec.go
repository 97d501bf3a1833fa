package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e/load"
)

// specTimeout is twice what the longest test takes.
const specTimeout = 50 * time.Minute

// mostBusy is the part of the machine's CPU time beyond which pods probably did not get the CPU that they wanted.
const mostBusy = 0.9

// Spec is one of upstream's tests.
type Spec struct {
	// Name is the test's, without labels.
	Name string `json:"name"`
	// FullName is its name in Ginkgo.
	FullName string `json:"fullName"`
	// NotRun is the reason why it cannot be run; empty for those that can.
	NotRun string `json:"notRun,omitempty"`
	// Group are the tests that run against the same parts of a subject; empty where there is one group.
	Group string `json:"group,omitempty"`
	// share is the number of tests that it counts for in Config.AtATime; 0 means one.
	share int
}

// everyPlace is the share of a test that runs alone.
const everyPlace = math.MaxInt

// hasPart reports whether any of the parts is in the name.
func (s *Spec) hasPart(parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.Contains(s.Name, part) || strings.Contains(s.FullName, part)
	})
}

// isSerial reports whether the test changes a part of the whole cluster, such as an APIService.
func (s *Spec) isSerial() bool { return strings.Contains(s.FullName, "[Serial]") }

// places is the number of slots, of most, that this test takes.
func (s *Spec) places(most int) int { return min(max(s.share, 1), most) }

// listed is a line of --list-tests: file, line and full name.
var listed = regexp.MustCompile(`(?m)^ {4}\S+:\d+: (.+)$`)

// list lists the tests by their names.
func (s *suite) list(ctx context.Context) ([]Spec, error) {
	out, err := exec.CommandContext(ctx, s.program, "--list-tests").Output()
	if err != nil {
		return nil, fmt.Errorf("names of the tests: %w", err)
	}
	return s.read(string(out)), nil
}

// read reads what --list-tests prints.
func (s *suite) read(text string) []Spec {
	var specs []Spec
	for _, match := range listed.FindAllStringSubmatch(text, -1) {
		if strings.Contains(match[1], s.mark) {
			specs = append(specs, s.specOf(match[1]))
		}
	}
	slices.SortFunc(specs, func(a, b Spec) int { return strings.Compare(a.FullName, b.FullName) })
	return specs
}

// State is the final state of a test.
type State string

// The states.
const (
	Passed State = "passed"
	Failed State = "failed"
)

// Outcome is the outcome of a test in one run.
type Outcome struct {
	State   State   `json:"state"`
	Seconds float64 `json:"seconds"`
	// Message is the reason of a failure.
	Message string `json:"message,omitempty"`
	// Load describes its requests for load.
	Load load.Report `json:"load"`
	// BusyCPU is the part of this machine's CPU time that was used meanwhile, from 0 to 1; 0 where it was not measured.
	BusyCPU float64 `json:"busyCPU,omitempty"`
	// Log is the file with its output.
	Log string `json:"log"`
}

// Starved reports whether it failed, and the load was probably not as requested: requests for load came late, or hardly
// any CPU time was left. The autoscaler may be the cause of the latter, too.
func (o Outcome) Starved() bool { return o.State != Passed && (o.Load.Starved() || o.isCrowded()) }

// isCrowded reports whether hardly any CPU time was left, whichever process used it.
func (o Outcome) isCrowded() bool { return o.BusyCPU > mostBusy }

// run runs one test alone; its output goes to a file.
func (s *suite) run(ctx context.Context, kubeconfig string, spec Spec, log string) (outcome Outcome, err error) {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return Outcome{}, fmt.Errorf("logs: %w", err)
	}
	file, err := os.Create(log)
	if err != nil {
		return Outcome{}, fmt.Errorf("logs: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	report := log + ".json"
	ctx, cancel := context.WithTimeout(ctx, specTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, "--kubeconfig="+kubeconfig, "--provider=skeleton",
		"--ginkgo.focus="+regexp.QuoteMeta(spec.FullName)+"$", "--ginkgo.v", "--ginkgo.no-color",
		"--ginkgo.timeout="+specTimeout.String(), "--ginkgo.json-report="+report)
	cmd.Stdout, cmd.Stderr = file, file
	// Interrupted, it would remove what it made; the cluster that is removed next takes all with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	before, err := readCPUTime()
	if err != nil {
		return Outcome{}, err
	}
	ran := cmd.Run()
	if ctx.Err() != nil && ran != nil {
		return Outcome{}, fmt.Errorf("%s: %w", spec.Name, errors.Join(context.Cause(ctx), ran))
	}
	if outcome, err = readReport(report); err != nil {
		return Outcome{}, fmt.Errorf("%s: %w (its output is in %s)", spec.Name, errors.Join(err, ran), log)
	}
	if err := os.Remove(report); err != nil {
		return Outcome{}, fmt.Errorf("report: %w", err)
	}
	outcome.Log = log
	if !s.ordersLoad {
		return outcome, nil
	}
	after, err := readCPUTime()
	if err != nil {
		return Outcome{}, err
	}
	outcome.BusyCPU = after.busySince(before)
	written, err := os.Open(log)
	if err != nil {
		return Outcome{}, fmt.Errorf("logs: %w", err)
	}
	defer written.Close()
	outcome.Load, err = load.Read(written)
	return outcome, err
}

// ginkgoReport has the fields of Ginkgo's report that are used.
type ginkgoReport struct {
	SpecReports []struct {
		LeafNodeType string
		State        string
		RunTime      time.Duration
		Failure      struct{ Message string }
	}
}

// readReport finds the one test that was run.
func readReport(path string) (Outcome, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Outcome{}, fmt.Errorf("report: %w", err)
	}
	var suites []ginkgoReport
	if err := json.Unmarshal(text, &suites); err != nil {
		return Outcome{}, fmt.Errorf("report: %w", err)
	}
	var outcomes []Outcome
	for _, suite := range suites {
		for _, spec := range suite.SpecReports {
			if spec.LeafNodeType != "It" || spec.RunTime == 0 && spec.State == "skipped" {
				continue
			}
			outcome := Outcome{State: Failed, Seconds: spec.RunTime.Seconds(), Message: spec.Failure.Message}
			if spec.State == string(Passed) {
				outcome.State = Passed
			}
			outcomes = append(outcomes, outcome)
		}
	}
	if len(outcomes) != 1 {
		return Outcome{}, fmt.Errorf("report: %d tests were run instead of one", len(outcomes))
	}
	return outcomes[0], nil
}
