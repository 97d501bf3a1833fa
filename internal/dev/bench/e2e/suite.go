package e2e

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/plimsoll-dev/plimsoll/internal/dev/devcluster/build"
)

// suite is a collection of upstream's tests, and what they need.
type suite struct {
	// benchmark is its name in a file of results, title the table's.
	benchmark, title string
	// program is the compiled tests, of which those with mark in their full names are the suite's.
	program, mark string
	// specOf reads a test's full name.
	specOf func(fullName string) Spec
	// ordersLoad is true if a test requests an amount of load from its pods, which a busy machine falsifies. Pods that use
	// as much CPU as there is always keep the machine busy.
	ordersLoad bool
	system     system
}

// system is the autoscaler under test.
type system interface {
	// prepare gives the cluster what all subjects need, once.
	prepare(ctx context.Context, s *stage) error
	// begin starts a subject alone, with what the tests of a group need of it.
	begin(ctx context.Context, s *stage, subject Subject, group string) error
	// end takes away what begin started.
	end(ctx context.Context, s *stage, subject Subject) error
}

// suite is the one that is to be run.
func (c *Config) suite() *suite {
	if c.VerticalTests != "" {
		return &suite{
			benchmark: "e2e-vpa", title: "tests of the vertical autoscaler in test/e2e/v1",
			program: c.VerticalTests, mark: "[VPA]", specOf: verticalSpec,
			system: &vertical{binDir: c.BinDir, logDir: c.LogDir, subjects: c.Subjects},
		}
	}
	return &suite{
		benchmark: "e2e-upstream", title: "test/e2e/autoscaling",
		program: filepath.Join(c.BinDir, build.UpstreamSuite), specOf: horizontalSpec, ordersLoad: true,
		system: horizontal{},
	}
}

var labels = regexp.MustCompile(`\s*\[[^]]*\]`)

// withoutLabels is a test's name for a table.
func withoutLabels(fullName string) string {
	return strings.TrimSpace(labels.ReplaceAllString(fullName, ""))
}
