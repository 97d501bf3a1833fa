// Command suite runs Kubernetes' own end-to-end tests of horizontal pod autoscaling, unmodified, against a cluster.
// It is what test/e2e of Kubernetes is with the tests of autoscaling alone, which take a fraction of the time to build.
package main

import (
	"flag"
	"os"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"

	_ "k8s.io/kubernetes/test/e2e/autoscaling"
	_ "k8s.io/kubernetes/test/e2e/feature"
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
)

const title = "Kubernetes e2e suite"

// failed is what Ginkgo tells a test's T.
type failed struct{ told bool }

// Fail implements ginkgo.GinkgoTestingT.
func (f *failed) Fail() { f.told = true }

func main() {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	framework.AfterReadingAllFlags(&framework.TestContext)
	gomega.RegisterFailHandler(framework.Fail)
	suite, reporter := framework.CreateGinkgoConfig()
	var t failed
	if !ginkgo.RunSpecs(&t, title, suite, reporter) || t.told {
		os.Exit(1)
	}
}
