// Package doctor is the command plimsoll doctor.
package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/complete"
	"github.com/plimsoll-dev/plimsoll/cmd/plimsoll/internal/flags"
	"github.com/plimsoll-dev/plimsoll/internal/cmderror"
	"github.com/plimsoll-dev/plimsoll/internal/doctor"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/judge"
	"github.com/plimsoll-dev/plimsoll/internal/doctor/read"
)

const doctorLong = `Doctor examines a cluster, and prints for each check the result, why it matters, and what to do.

Use it before and after you install Plimsoll, and when something does not scale.

It reads the cluster with your permissions and writes nothing. If you may not read something,
the finding has level unknown and names the missing permission. Reading the kubelets' samples
needs get on nodes/proxy; examining the permissions of Plimsoll's accounts needs create on
subjectaccessreviews. It reads at most ten kubelets.

The checks:
%s
The exit status is 0; 1 if there is a finding of the level of --fail-on or above; 2 if the
cluster could not be examined.`

const doctorExample = `  # Is the cluster ready for Plimsoll, and is Plimsoll healthy?
  plimsoll doctor

  # Only what is wrong or could not be read
  plimsoll doctor --quiet

  # Fail a pipeline on warnings, and keep the findings
  plimsoll doctor --fail-on=warning -o json > doctor.json`

// never is no level of --fail-on.
const never = "never"

// The values of flags.
var (
	outputs = []string{"text", "json", "yaml"}
	failOn  = []string{doctor.Problem.String(), doctor.Warning.String(), doctor.Unknown.String(), never}
)

type doctorOptions struct {
	output, failOn string
	quiet          bool
	timeout        time.Duration
	program        doctor.Program
	kube           *genericclioptions.ConfigFlags
	out            io.Writer
}

// notExamined is the exit status if the cluster could not be examined: 1 is for what was found.
const notExamined = 2

// Command is plimsoll doctor. The version is that of the program.
func Command(version string) *cobra.Command {
	o := doctorOptions{kube: genericclioptions.NewConfigFlags(true), program: doctor.Program{Version: version}}
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Examine a cluster before and after Plimsoll is installed, and say what to do",
		Long:    fmt.Sprintf(doctorLong, checks()),
		Example: doctorExample,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.out = cmd.OutOrStdout()
			return o.run(cmd.Context())
		},
	}
	fs := cmd.Flags()
	fs.StringVarP(&o.output, "output", "o", "text", "text, json or yaml")
	flags.AddValues(fs, "output", flags.Values{All: outputs})
	fs.StringVar(&o.failOn, "fail-on", doctor.Problem.String(),
		"exit with status 1 at findings of this level or higher: problem, warning, unknown or never")
	flags.AddValues(fs, "fail-on", flags.Values{All: failOn})
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "print only what needs attention")
	fs.DurationVar(&o.timeout, "check-timeout", 10*time.Second, "how long the API server may take for each request")
	fs.StringVar(&o.program.Namespace, "controller-namespace", "plimsoll-system", "the namespace of Plimsoll's controller")
	fs.StringVar(&o.program.Lease, "controller-lease", "plimsoll-controller", "the name of its Lease")
	o.kube.AddFlags(fs)
	complete.Kube(cmd, o.kube)
	return cmd
}

func checks() string {
	var out strings.Builder
	for _, check := range judge.All() {
		fmt.Fprintf(&out, "  %-18s  %s\n", check.Name, check.About)
	}
	return out.String()
}

func (o *doctorOptions) validate() error {
	if err := cmderror.OneOf("output", o.output, outputs...); err != nil {
		return err
	}
	if err := cmderror.OneOf("fail-on", o.failOn, failOn...); err != nil {
		return err
	}
	if o.timeout <= 0 {
		return cmderror.Usagef("--check-timeout=%v: must be greater than 0", o.timeout)
	}
	return nil
}

func (o *doctorOptions) run(ctx context.Context) error {
	report, err := o.examine(ctx)
	if err != nil {
		return cmderror.WithStatus(err, notExamined)
	}
	return o.result(report)
}

func (o *doctorOptions) examine(ctx context.Context) (*doctor.Report, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	config, err := flags.RESTConfig(o.kube, "plimsoll-doctor")
	if err != nil {
		return nil, err
	}
	o.program.ClusterFlags = flags.ToCluster(o.kube)
	read, err := read.Read(ctx, read.Config{REST: config, Program: o.program, Timeout: o.timeout})
	if err != nil {
		return nil, err
	}
	report := judge.Judge(read)
	return &report, nil
}

// result prints the report, and is an error if a finding is as bad as --fail-on says.
func (o *doctorOptions) result(report *doctor.Report) error {
	if err := o.print(report); err != nil {
		return cmderror.WithStatus(err, notExamined)
	}
	if o.failOn == never {
		return nil
	}
	limit, err := doctor.ParseLevel(o.failOn)
	if err != nil {
		return cmderror.WithStatus(err, notExamined)
	}
	if worst := report.Worst(); worst >= limit {
		return fmt.Errorf("the worst finding is of level %s (--fail-on=%s)", worst, o.failOn)
	}
	return nil
}

func (o *doctorOptions) print(report *doctor.Report) error {
	shown := *report
	if o.quiet {
		shown.Findings = slices.DeleteFunc(slices.Clone(report.Findings), func(f doctor.Finding) bool {
			return f.Level == doctor.OK
		})
	}
	switch o.output {
	case "json":
		return doctor.WriteJSON(o.out, &shown)
	case "yaml":
		return doctor.WriteYAML(o.out, &shown)
	}
	width, inColour := flags.Text(o.out)
	return doctor.WriteText(o.out, &shown, doctor.Style{Width: width, InColour: inColour})
}
