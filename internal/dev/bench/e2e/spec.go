package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll-dev/plimsoll/internal/dev/bench/e2e/load"
	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// specTimeout is twice what the longest test takes.
const specTimeout = 50 * time.Minute

// mostBusy is the part of the machine's CPU time beyond which pods probably did not get the CPU that they wanted.
const mostBusy = 0.9

// heavy are parts of the names of tests whose pods use more CPU than those of others, and how many tests they count
// for: the 10 to 12 pods of this one use up to 1.4 cores, all the time.
var heavy = map[string]int{"with small scale-up, large scale-down tolerances": 3}

// labelled is how the tests of horizontal pod autoscaling are marked.
const labelled = "[Feature:HPA]"

// elsewhere says why the others are not run.
var elsewhere = map[string]string{
	"[Feature:KubeDNSAutoscaler]": "about cluster-proportional-autoscaler, which counts nodes: no HPA",
}

var labels = regexp.MustCompile(`\s*\[[^]]*\]`)

// Spec is one of Kubernetes' tests.
type Spec struct {
	// Name is the test's, without labels.
	Name string `json:"name"`
	// FullName is how Ginkgo knows it.
	FullName string `json:"fullName"`
	// NotRun says why it cannot be run; empty for those that can.
	NotRun string `json:"notRun,omitempty"`
}

func specOf(fullName string) Spec {
	spec := Spec{FullName: fullName, Name: strings.TrimSpace(labels.ReplaceAllString(fullName, ""))}
	spec.Name = strings.TrimPrefix(spec.Name, "Horizontal pod autoscaling ")
	if strings.Contains(fullName, labelled) {
		return spec
	}
	spec.NotRun = "no test of HPAs"
	for label, why := range elsewhere {
		if strings.Contains(fullName, label) {
			spec.NotRun = why
		}
	}
	return spec
}

// hasPart says whether any of the parts is in the name.
func (s *Spec) hasPart(parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool {
		return strings.Contains(s.Name, part) || strings.Contains(s.FullName, part)
	})
}

// isSerial says that the test changes what is the whole cluster's, such as an APIService.
func (s *Spec) isSerial() bool { return strings.Contains(s.FullName, "[Serial]") }

// share is how many tests this one counts for in Config.AtATime, and no more than most.
func (s *Spec) share(most int) int {
	for part, share := range heavy {
		if strings.Contains(s.Name, part) {
			return min(share, most)
		}
	}
	return 1
}

// listSpecs asks the tests for their names. They come in another order each time.
func listSpecs(ctx context.Context, binDir string) ([]Spec, error) {
	cmd := exec.CommandContext(ctx, filepath.Join(binDir, build.UpstreamSuite), "-list")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("names of the tests: %w", err)
	}
	names := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(names)
	specs := make([]Spec, len(names))
	for i, name := range names {
		specs[i] = specOf(name)
	}
	return specs, nil
}

// State is how a test ended.
type State string

// The states.
const (
	Passed State = "passed"
	Failed State = "failed"
)

// Outcome is what became of a test in one run.
type Outcome struct {
	State   State   `json:"state"`
	Seconds float64 `json:"seconds"`
	// Message is why it failed.
	Message string `json:"message,omitempty"`
	// Load is how its requests for load came.
	Load load.Report `json:"load"`
	// BusyCPU is the part of this machine's CPU time that was used meanwhile, from 0 to 1; 0 where it was not measured.
	BusyCPU float64 `json:"busyCPU,omitempty"`
	// Log is the file with its output.
	Log string `json:"log"`
}

// Starved says that it failed, and that the load was probably not what it asked for: requests for load came late, or
// hardly any CPU time was left. Of the latter the autoscaler may be the cause, too.
func (o Outcome) Starved() bool { return o.State != Passed && (o.Load.Starved() || o.isCrowded()) }

// isCrowded reports whether hardly any CPU time was left, whoever used it.
func (o Outcome) isCrowded() bool { return o.BusyCPU > mostBusy }

// runSpec runs one test alone; its output goes to a file.
func runSpec(ctx context.Context, suite, kubeconfig string, spec Spec, log string) (outcome Outcome, err error) {
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
	cmd := exec.CommandContext(ctx, suite, "--kubeconfig="+kubeconfig, "--provider=skeleton",
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
	after, err := readCPUTime()
	if err != nil {
		return Outcome{}, err
	}
	outcome.Log, outcome.BusyCPU = log, after.busySince(before)
	written, err := os.Open(log)
	if err != nil {
		return Outcome{}, fmt.Errorf("logs: %w", err)
	}
	defer written.Close()
	outcome.Load, err = load.Read(written)
	return outcome, err
}

// ginkgoReport is what is used of Ginkgo's report.
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
