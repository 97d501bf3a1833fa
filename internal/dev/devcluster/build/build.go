// Package build builds the programs of the development cluster from pinned modules. It uses the standard library
// alone, so that the program that shows the progress of a ten-minute build is itself built within seconds.
package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Versions of the parts, as tools/controlplane/go.mod pins them (a test compares).
const (
	KubernetesVersion    = "v1.37.1"
	KWOKVersion          = "v0.8.0"
	MetricsServerVersion = "v0.9.0"
)

// part is a program and where it comes from.
type part struct {
	name    string
	module  string // folder of the module that builds it, below the repository's root
	pkg     string
	outName string // the name of go build's output, if it differs
	ours    bool   // changes with this repository, so the go command alone knows whether it is up to date
	apart   bool   // which only few need: not one of ControlPlane
}

// allParts lists the programs in the order of the cluster's start.
var allParts = []part{
	{name: "etcd", module: controlPlane, pkg: "go.etcd.io/etcd/server/v3", outName: "server"},
	{name: "kube-apiserver", module: controlPlane, pkg: "k8s.io/kubernetes/cmd/kube-apiserver"},
	{name: "kube-controller-manager", module: controlPlane, pkg: "k8s.io/kubernetes/cmd/kube-controller-manager"},
	{name: "kube-scheduler", module: controlPlane, pkg: "k8s.io/kubernetes/cmd/kube-scheduler"},
	{name: "kwok", module: controlPlane, pkg: "sigs.k8s.io/kwok/cmd/kwok"},
	{name: "metrics-server", module: controlPlane, pkg: "sigs.k8s.io/metrics-server/cmd/metrics-server"},
	{name: "kubectl", module: controlPlane, pkg: "k8s.io/kubernetes/cmd/kubectl"},
	{name: Kubelet, module: controlPlane, pkg: "k8s.io/kubernetes/cmd/kubelet", apart: true},
	{name: UpstreamRecommender, module: autoscaler, pkg: verticalAutoscaler + "recommender", outName: "recommender",
		apart: true},
	{name: UpstreamUpdater, module: autoscaler, pkg: verticalAutoscaler + "updater", outName: "updater", apart: true},
	{name: UpstreamAdmission, module: autoscaler, pkg: verticalAutoscaler + "admission-controller",
		outName: "admission-controller", apart: true},
	{name: KEDAOperator, module: keda, pkg: "github.com/kedacore/keda/v2/cmd/operator", outName: "operator", apart: true},
	{name: KEDAMetricsServer, module: keda, pkg: "github.com/kedacore/keda/v2/cmd/adapter", outName: "adapter",
		apart: true},
	{name: Scalers, module: scalers, pkg: "./cmd/plimsoll-scalers", ours: true},
	{name: KubeProxy, module: endToEnd, pkg: "k8s.io/kubernetes/cmd/kube-proxy", apart: true},
	{name: Agnhost, module: endToEnd, pkg: endToEndImages + "agnhost", apart: true},
	{name: ResourceConsumer, module: endToEnd, pkg: endToEndImages + "resource-consumer", apart: true},
	{name: ConsumeCPU, module: endToEnd, pkg: endToEndImages + "resource-consumer/consume-cpu", apart: true},
	{name: UpstreamSuite, module: endToEnd, pkg: "./suite", outName: "suite", ours: true},
	{name: Pause, module: development, pkg: "./realnode/pause", ours: true},
	{name: RequestExporter, module: development, pkg: "./bench/reaction/requestexporter", ours: true},
	{name: MemoryServer, module: development, pkg: "./bench/reaction/memoryserver", ours: true},
	{name: "devcluster", module: development, pkg: "./cmd/devcluster", ours: true},
	// From another module of the same workspace: one go command builds it beside those above.
	{name: "plimsoll", module: development, pkg: "../../cmd/plimsoll", ours: true},
}

// The modules that pin the parts.
const (
	controlPlane = "tools/controlplane"
	autoscaler   = "tools/autoscaler"
	keda         = "tools/keda"
	scalers      = "scalers"
	endToEnd     = "tools/e2e"
	development  = "internal/dev"
)

const verticalAutoscaler = verticalModule + "/pkg/"

// endToEndImages is the path of the programs of Kubernetes' images for end-to-end tests.
const endToEndImages = "k8s.io/kubernetes/test/images/"

// The parts of Kubernetes' end-to-end tests: the tests, what serves the addresses of Services, and the programs that
// run in the tests' pods.
const (
	UpstreamSuite    = "upstream-e2e"
	KubeProxy        = "kube-proxy"
	Agnhost          = "agnhost"
	ResourceConsumer = "resource-consumer"
	ConsumeCPU       = "consume-cpu"
)

// The parts of a real node.
const (
	Kubelet = "kubelet"
	Pause   = "pause"
)

// The parts of KEDA, beside which Plimsoll is tested.
const (
	KEDAOperator      = "keda-operator"
	KEDAMetricsServer = "keda-metrics-server"
	// Scalers reads metrics with KEDA's scalers, for Plimsoll.
	Scalers = "plimsoll-scalers"
)

// The programs in the pods of a benchmark: a counter of requests beside nginx, and a server that needs memory.
const (
	RequestExporter = "requestexporter"
	MemoryServer    = "memoryserver"
)

// The parts of upstream's vertical autoscaler, beside which Plimsoll is measured and tested.
const (
	UpstreamRecommender = "upstream-vpa-recommender"
	UpstreamUpdater     = "upstream-vpa-updater"
	UpstreamAdmission   = "upstream-vpa-admission-controller"
)

// Flags are the compiler's and linker's, the same for all parts and for Plimsoll, so that each shared package is
// compiled once. Debug information would be thrown away by the linker (-w), and not making it saves 15 % of the
// compiler's time. What is built otherwise (make's own go build) shares packages if it has the same -trimpath and
// -gcflags.
func Flags() []string { return flags(KubernetesVersion) }

func flags(kubernetes string) []string {
	return []string{"-trimpath", "-gcflags=all=-dwarf=false", "-buildvcs=false", "-ldflags=" + strings.Join([]string{
		"-s", "-w",
		"-X k8s.io/component-base/version.gitVersion=" + kubernetes,
		"-X k8s.io/component-base/version.gitMajor=1", "-X k8s.io/component-base/version.gitMinor=" + minorOf(kubernetes),
		"-X k8s.io/component-base/version.gitTreeState=clean",
		"-X k8s.io/client-go/pkg/version.gitVersion=" + kubernetes,
		"-X sigs.k8s.io/metrics-server/pkg/version.gitVersion=" + MetricsServerVersion,
	}, " ")}
}

// environment is that of a go command in a module's folder: no cgo, so that the parts are static and a C compiler's
// speed does not matter; no flags or workspace of the caller's, which would make other binaries. A compiler lives for a
// second: without garbage collection, up to a limit that only the largest packages reach, it needs a quarter less
// processor time.
func environment(module string) []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK="+workspace(module), "GOGC=off", "GOMEMLIMIT=2GiB")
}

// workspace is the go.work file of a module's folder, or "off" where it has none.
func workspace(module string) string {
	file := filepath.Join(module, "go.work")
	if _, err := os.Stat(file); err != nil {
		return "off"
	}
	return file
}

// Config configures a build.
type Config struct {
	// Root is the repository; empty means the one around the working directory.
	Root string
	// BinDir names a folder of ready binaries, which are then used instead of building; empty means <Root>/bin.
	BinDir string
	// Parts are the names of the programs wanted; empty means the control plane's, all of them.
	Parts []string
	// Kubernetes is a minor version of tools/versions, such as "1.32", of which the API server, the controller manager
	// and the scheduler are wanted; empty means KubernetesVersion. They are in <Root>/bin/v1.32, beside links to the other
	// parts.
	Kubernetes string
	// Out gets the progress; nil is silence.
	Out io.Writer
	// Terminal rewrites one line of Out instead of adding lines.
	Terminal bool
}

// Result is the result of a build.
type Result struct {
	// BinDir is the folder of the binaries.
	BinDir string
	// Built are the parts that were not up to date.
	Built []string
	// Download is the time spent on downloading and listing modules, Compile that on compiling and linking.
	Download, Compile time.Duration
	// Profile splits the compiler's and linker's time.
	Profile Profile
}

// ControlPlane are the names of the parts of the control plane; those that only few need are not among them.
func ControlPlane() []string {
	var names []string
	for _, p := range allParts {
		if !p.ours && !p.apart {
			names = append(names, p.name)
		}
	}
	return names
}

// Run brings the wanted programs up to date. Several may run at the same time: the later ones wait.
func Run(ctx context.Context, config Config) (Result, error) {
	if len(config.Parts) == 0 {
		config.Parts = ControlPlane()
	}
	if config.Out == nil {
		config.Out = io.Discard
	}
	wanted, err := find(config.Parts)
	if err != nil {
		return Result{}, err
	}
	if config.BinDir != "" {
		return ready(config.BinDir, config.Parts)
	}
	if config.Root == "" {
		if config.Root, err = Root(); err != nil {
			return Result{}, err
		}
	}
	b := &builder{config: config, binDir: filepath.Join(config.Root, "bin"), kubernetes: KubernetesVersion}
	if err := os.MkdirAll(b.binDir, 0o755); err != nil {
		return Result{}, fmt.Errorf("folder of binaries: %w", err)
	}
	unlock, err := lock(ctx, filepath.Join(b.binDir, ".lock"), config.Out)
	if err != nil {
		return Result{}, err
	}
	defer unlock()
	if config.Kubernetes != "" {
		return b.runVersion(ctx, wanted)
	}
	return b.run(ctx, wanted)
}

func find(names []string) ([]part, error) {
	var found []part
	for _, name := range names {
		i := slices.IndexFunc(allParts, func(p part) bool { return p.name == name })
		if i < 0 {
			return nil, fmt.Errorf("no part is called %q", name)
		}
		found = append(found, allParts[i])
	}
	return found, nil
}

// ready uses a folder of binaries that were built elsewhere.
func ready(dir string, parts []string) (Result, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return Result{}, fmt.Errorf("folder of binaries: %w", err)
	}
	return Result{BinDir: absolute}, CheckBinaries(absolute, parts)
}

// CheckBinaries returns an error with the programs that a folder lacks.
func CheckBinaries(dir string, parts []string) error {
	var missing []string
	for _, name := range parts {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("folder of binaries %s lacks the executable %s", dir, strings.Join(missing, ", "))
	}
	return nil
}

// OutsideEnv is set to a sum over the files that tests read outside of their modules. The go command, which caches the
// results of tests, does not detect changes of those files, but runs a test again that has read this variable.
const OutsideEnv = "PLIMSOLL_OUTSIDE"

// Root finds the repository around the working directory. What a test of this module reads outside of the module, it
// finds by this.
func Root() (string, error) {
	_ = os.Getenv(OutsideEnv)
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, controlPlane, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside Plimsoll's repository (no " + controlPlane + "/go.mod above)")
		}
		dir = parent
	}
}
