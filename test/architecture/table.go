package architecture

import "slices"

// Import paths below this module, as they stand in never.
const (
	developer = modulePath + "/" + development
	simulator = modulePath + "/internal/workloadmodel"
	tests     = modulePath + "/test"
)

// elsewhere is where other people's packages come from.
var elsewhere = []string{
	"github.com", "go.uber.org", "go.yaml.in", "golang.org", "google.golang.org", "gopkg.in", "k8s.io",
	"pgregory.net", "sigs.k8s.io",
}

// layers are the walls, from the inside to the outside. docs/ARCHITECTURE.md draws them.
var layers = []wall{
	{
		within: "internal/decide",
		why:    "a decision is a function of its arguments: no API, no clock, no logger, no lock, no input or output",
		ours:   []string{"internal/decide"},
		never: append(slices.Clone(elsewhere),
			"context", "io", "log", "math/rand", "net", "os", "reflect", "runtime", "sync", "syscall", "testing", "unsafe"),
		except: []string{modulePath + "/internal/decide"},
	},
	{
		within: "internal/workloadmodel",
		why: "the workload model runs under virtual time, in the development cluster and offline: no Kubernetes, no " +
			"clock, no input or output",
		ours:  []string{"internal/workloadmodel", "internal/decide"},
		never: []string{"k8s.io", "sigs.k8s.io", "context", "log", "net", "os", "sync", "syscall", "testing"},
	},
	{
		within: "api",
		why:    "objects as others store them: a program that uses them needs nothing else of ours",
		ours:   []string{"api"},
		never:  []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "testing"},
	},
	{
		within: "internal/observe",
		why:    "it translates API objects into values and back, and calls no API",
		ours:   []string{"internal/observe", "internal/decide", "api", "internal/quantity"},
		never: []string{"k8s.io/client-go", "k8s.io/metrics/pkg/client", "sigs.k8s.io/controller-runtime", "log", "net",
			"os", "sync", "testing"},
		// An address as a value.
		except: []string{"net/netip"},
	},
	{
		within: "internal/snapshot",
		why:    "it reads and writes files of the inputs of decisions, and calls no API",
		ours:   []string{"internal/snapshot", "internal/observe", "internal/decide", "api", "internal/quantity"},
		never: []string{"k8s.io/client-go", "k8s.io/metrics/pkg/client", "sigs.k8s.io/controller-runtime", "net", "sync",
			"testing"},
		except: []string{"k8s.io/client-go/kubernetes/scheme"},
	},
	{
		within: "internal/simulate",
		why: "it plays loads against manifests under virtual time: no API, no clock; it decides nothing that the core " +
			"does not",
		ours: []string{"internal/simulate", "internal/workloadmodel", "internal/observe", "internal/decide",
			"internal/output", "internal/crdschema", "internal/typed", "api", "internal/quantity"},
		never: []string{"k8s.io/client-go", "k8s.io/metrics/pkg/client", "sigs.k8s.io/controller-runtime", "net", "testing"},
	},
	{
		within: "internal/quantity",
		why:    "every reader of untrusted text checks it with this before decoding, so it imports nothing else of ours",
		ours:   []string{"internal/quantity"},
		never:  []string{"k8s.io/client-go", "sigs.k8s.io/controller-runtime", "log", "net", "os", "testing"},
	},
	{
		within: "internal/typed",
		why:    "what does not fit a type is a function of both",
		ours:   []string{"internal/typed", "internal/quantity"},
		never:  []string{"k8s.io/client-go", "log", "net/http", "os$", "testing"},
	},
	{
		within: "internal/scaledobject",
		why:    "it is a type of KEDA's API, for all that read manifests, and which of its types of triggers was meant",
		ours:   []string{"internal/scaledobject", "internal/cmderror"},
		never:  []string{"k8s.io/client-go", "log", "net/http", "os$", "testing"},
	},
	{
		within: "internal/series",
		why:    "it registers series for the packages that set them",
		ours:   []string{"internal/series"},
		never:  []string{"k8s.io", "sigs.k8s.io", "testing"},
	},
	{
		within: "internal/cmderror",
		why:    "errors as commands print them are values: it knows no API and no command",
		ours:   []string{"internal/cmderror"},
		never:  []string{"k8s.io", "sigs.k8s.io", "github.com/spf13", "log", "net", "os", "testing"},
	},
	{
		within: "internal/buildinfo",
		why:    "the linker sets it, and every process and command prints it",
		ours:   []string{"internal/buildinfo"},
		never:  append(slices.Clone(elsewhere), "log", "net", "os", "testing"),
		except: []string{modulePath},
	},
	{
		within: "internal/output",
		why:    "it prints values that commands computed, and reads nothing",
		ours:   []string{"internal/output", "internal/decide"},
		never:  []string{"k8s.io", "log", "net", "os", "testing"},
	},
	{
		within: "internal/loadhistory",
		why:    "it is a value that the controller keeps, and that commands read from files and answers",
		ours:   []string{"internal/loadhistory"},
		never:  append(slices.Clone(elsewhere), "log", "net", "os", "testing"),
		except: []string{modulePath},
	},
	{
		within: "internal/timing",
		why:    "it has the parts of schedules, for every layer that has a clock",
		ours:   []string{"internal/timing"},
		never:  append(slices.Clone(elsewhere), "log", "net", "os", "testing"),
		except: []string{modulePath, "golang.org/x/sys/unix"}, // the clock of a thread
	},
	{
		within: "internal/fairqueue",
		why:    "whose turn it is, is a value that every layer with callers may keep",
		ours:   []string{"internal/fairqueue", "internal/timing"},
		never:  append(slices.Clone(elsewhere), "log", "net", "os", "sync", "testing"),
		except: []string{modulePath, "golang.org/x/sys/unix"}, // as internal/timing
	},
	{
		within: "internal/panics",
		why:    "it keeps a panic to one object, for every layer that has a log",
		ours:   []string{"internal/panics"},
		never:  []string{"k8s.io", "sigs.k8s.io", "testing"},
	},
	{
		within: "internal/collect",
		why:    "a source of metrics knows neither its callers nor what is written",
		ours: []string{"internal/collect", "internal/nodeagent/selection", "internal/series", "internal/timing",
			"internal/fairqueue", "internal/panics", "internal/observe", "internal/decide", "internal/quantity"},
		never: []string{"testing"},
	},
	{
		within: "internal/nodeagent",
		why:    "it runs on every node, reads cgroups and calls no API",
		ours:   []string{"internal/nodeagent"},
		never:  []string{"k8s.io", "sigs.k8s.io", "testing"},
	},
	{
		within: "internal/kube",
		why:    "it reads and writes the API without any policy",
		ours: []string{"internal/kube", "internal/fairqueue", "internal/observe", "internal/decide", "api",
			"internal/quantity"},
		never: []string{"testing"},
	},
	{
		within: "internal/controller",
		why:    "the loop ties the parts together and knows nothing of the clusters that it is tested in",
		ours: []string{
			"internal/controller", "internal/collect", "internal/kube", "internal/series", "internal/timing",
			"internal/fairqueue", "internal/loadhistory", "internal/observe", "internal/decide",
			"internal/snapshot", "internal/panics",
			"api", "internal/quantity",
		},
		never: []string{"testing", developer, simulator, tests},
	},
	{
		within: "internal/explain",
		why:    "it reads with the permissions of its user, decides with the core and writes nothing to a cluster",
		ours: []string{
			"internal/explain", "internal/collect", "internal/kube", "internal/loadhistory", "internal/observe",
			"internal/decide", "internal/snapshot", "internal/output", "internal/cmderror", "api", "internal/quantity",
		},
		never: []string{"testing"},
	},
	{
		within: "internal/explain/horizontal",
		why:    "plimsoll evaluate decides again offline, from a file alone",
		ours: []string{"internal/explain", "internal/observe", "internal/decide", "internal/snapshot", "internal/output",
			"api", "internal/quantity"},
		never: []string{"k8s.io/client-go", "k8s.io/metrics/pkg/client", "sigs.k8s.io/controller-runtime", "net", "sync",
			"testing"},
		except: []string{"k8s.io/client-go/kubernetes/scheme"},
	},
	{
		within: "internal/advise",
		why:    "it reads objects, and writes nothing to a cluster",
		ours: []string{"internal/cmderror", "internal/advise", "internal/observe", "internal/decide", "internal/output",
			"internal/crdschema", "internal/scaledobject", "internal/typed", "api", "internal/quantity"},
		never: []string{"testing"},
	},
	{
		within: "internal/crdschema",
		why:    "what an API server refuses of a custom resource is a function of its definition",
		ours:   []string{"internal/crdschema", "config"},
		never:  []string{"k8s.io/client-go", "log", "net", "os", "testing"},
	},
	{
		within: "internal/advise/rules",
		why:    "a rule is a function of its objects: it calls no API, and reads no clock",
		ours: []string{"internal/advise/rules", "internal/advise/objects", "internal/advise/containerusage",
			"internal/advise/recurring", "internal/observe/horizontal/scheduled", "internal/observe/horizontal/validation",
			"internal/observe/vertical", "internal/decide/horizontal/schedules", "internal/decide/vertical/status",
			"internal/crdschema", "api", "internal/quantity", "internal/output", "internal/scaledobject",
			"internal/cmderror"},
		never: []string{"k8s.io/client-go", "log", "net/http", "testing"},
	},
	{
		within: "internal/advise/recurring",
		why:    "what a schedule would have done is a function of the history: no API types, no clock, no input or output",
		ours:   []string{"internal/advise/recurring", "internal/decide/horizontal/forecast/playback"},
		never: append(slices.Clone(elsewhere), "context", "io", "log", "math/rand", "net", "os", "sync", "syscall",
			"testing"),
		except: []string{modulePath},
	},
	{
		within: "internal/doctor",
		why:    "it reads with the permissions of its user, and writes nothing to a cluster",
		ours: []string{"internal/doctor", "internal/explain/apierror", "internal/cmderror", "internal/output",
			"internal/collect/kubelet/text", "internal/collect/page", "config"},
		never: []string{"testing", developer, simulator, tests},
	},
	{
		within: "internal/doctor/judge",
		why:    "a check is a function of facts: it calls no API, and reads no clock",
		ours:   []string{"internal/doctor", "internal/output"},
		never:  []string{"k8s.io/client-go", "context", "log", "net", "os", "sync", "testing"},
	},
	{
		within: "internal/migrate",
		why:    "it writes HPAs and WorkloadAutoscalers with the permissions of its user, and decides no replica count",
		ours: []string{"internal/cmderror", "internal/migrate", "internal/crdschema", "internal/advise/objects",
			"internal/advise/read", "internal/advise/containerusage", "internal/scaledobject", "internal/typed",
			"internal/kube", "internal/observe", "internal/decide", "api", "internal/quantity"},
		never: []string{"testing", developer, simulator, tests},
	},
	{
		within: "internal/migrate/convert",
		why:    "a conversion is a function of its object",
		ours:   []string{"internal/migrate/convert", "internal/typed", "api"},
		never:  []string{"k8s.io/client-go", "net/http", "os$", "testing"},
	},
	{
		within: "internal/recorded",
		why:    "it reads with the permissions of its user, and plays nothing",
		ours: []string{"internal/recorded", "internal/explain", "internal/simulate", "internal/observe", "api",
			"internal/quantity"},
		never: []string{"testing", developer, tests},
	},
	{
		within: "internal/ui",
		why:    "it shows with the permissions of its user what the other commands compute, and writes nothing to a cluster",
		ours: []string{
			"internal/ui", "internal/recorded", "internal/simulate", "internal/explain", "internal/advise", "internal/kube",
			"internal/loadhistory", "internal/snapshot", "internal/observe", "internal/decide", "internal/cmderror",
			"internal/output", "api", "internal/quantity",
		},
		never: []string{"testing", developer, tests},
	},
	{
		within: "internal/webhook",
		why:    "it answers from the caches of its Config, and knows no loop",
		ours: []string{"internal/webhook", "internal/kube", "internal/observe", "internal/decide", "api",
			"internal/panics", "internal/quantity"},
		never: []string{"testing", developer, simulator, tests},
	},
	{
		within: "internal/process",
		why: "it wires processes from what flags or tests say, and knows neither the flags nor the clusters that they are " +
			"tested in",
		ours: []string{
			"internal/process", "internal/webhook", "internal/controller", "internal/collect", "internal/kube",
			"internal/nodeagent", "internal/series", "internal/observe", "internal/buildinfo",
			"internal/panics", "internal/decide", "internal/snapshot", "api",
		},
		never: []string{"testing", "github.com/spf13/cobra", developer, simulator, tests},
	},
	{
		within: "internal/dev/image",
		why:    "it packs programs that are already built, and runs none of them",
		ours:   []string{"internal/dev/image"},
		never:  []string{"k8s.io"},
	},
	{
		within: "internal/dev/release",
		why:    "it builds and packs files, talks to no cluster and runs nothing of what it built",
		ours:   []string{"internal/dev/release", "internal/dev/image", "internal/dev/devcluster/build", "internal/buildinfo"},
		never:  []string{"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "testing"},
	},
	{
		within: "internal/dev/devcluster",
		why:    "it plays the cluster, which does not know how Plimsoll decides",
		ours: []string{"internal/dev/devcluster", "internal/workloadmodel", "internal/timing",
			"internal/collect/externalscaler/pb"},
	},
	{
		within: "internal/dev/devcluster/build",
		why:    "the program that shows the progress of a long build must itself be built within seconds",
		ours:   []string{"internal/dev/devcluster/build"},
		never:  elsewhere,
		except: []string{modulePath},
	},
	{
		within: "internal/dev/cmd/devbuild",
		why:    "the program that shows the progress of a long build must itself be built within seconds",
		ours:   []string{"internal/dev/devcluster/build"},
		never:  elsewhere,
		except: []string{modulePath},
	},
	{
		within: "internal/dev/realnode",
		why:    "it adds real containers on this machine to the development cluster",
		ours:   []string{"internal/dev/realnode", "internal/dev/devcluster", "internal/dev/image", "internal/workloadmodel"},
		never:  []string{"testing"},
	},
	{
		within: "internal/dev/deployed",
		why:    "it is the product as it is deployed, on a real node",
		ours: []string{"internal/dev/deployed", "internal/dev/realnode", "internal/dev/devcluster",
			"internal/dev/image"},
		never: []string{"testing"},
	},
	{
		within: "internal/dev/demo",
		why:    "it watches Plimsoll from outside, as a user does: through the API",
		ours: []string{"internal/dev/demo", "internal/dev/devcluster", "internal/workloadmodel", "internal/decide",
			"internal/observe", "internal/snapshot", "internal/kube/wla", "internal/kube/customresource", "api"},
	},
	{
		within: "internal/dev/bench",
		why: "it measures from outside, through the API and the processes' own numbers, or drives the pure parts; the " +
			"shell has its own tests",
		ours: []string{
			"internal/dev/bench", "internal/dev/deployed", "internal/dev/devcluster", "internal/dev/realnode",
			"internal/dev/image", "internal/workloadmodel", "internal/decide", "internal/observe", "internal/loadhistory",
			"internal/kube/checkpoints", "internal/snapshot", "internal/simulate", "internal/timing", "api",
			"internal/nodeagent",
		},
		never: []string{"testing"},
	},
	{
		within: "cmd/plimsoll",
		why:    "what is shipped carries neither the development cluster nor the server side of Kubernetes",
		never: []string{
			developer, tests,
			"sigs.k8s.io/custom-metrics-apiserver", "k8s.io/kube-aggregator", "k8s.io/apiextensions-apiserver/pkg/apiserver$",
			"go.etcd.io",
			"k8s.io/apiserver/pkg/server$", "k8s.io/apiserver/pkg/registry", "k8s.io/apiserver/pkg/storage",
			"github.com/google/go-containerregistry", "github.com/google/go-cmp", "pgregory.net/rapid",
			"github.com/spdx", "github.com/package-url",
		},
		// What a definition refuses, which serves nothing.
		except: []string{"k8s.io/apiextensions-apiserver/pkg/apiserver/schema",
			"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"},
	},
	{
		within: "cmd",
		why:    "upstream's code is compared with, in modules of its own, and never built in",
		never:  []string{"k8s.io/kubernetes", "k8s.io/autoscaler"},
	},
	{
		within: "internal",
		why: "upstream's code is compared with, in modules of its own, and never built in; tests are built on the " +
			"product, not the other way round",
		never: []string{"k8s.io/kubernetes", "k8s.io/autoscaler", tests, modulePath + "/cmd"},
	},
}

// neverRequired are modules that neither the product's go.mod nor that of internal/dev names, not even indirectly.
var neverRequired = map[string]string{
	"k8s.io/kubernetes": "only tools/controlplane and tools/e2e build it and only test/oracle compares with it",
	"k8s.io/autoscaler": "only test/oracle compares with it",
}

// requiredToDevelop are modules that internal/dev's go.mod names, and the product's does not.
var requiredToDevelop = []string{
	"github.com/google/go-containerregistry", "github.com/package-url/packageurl-go",
	"github.com/spdx/tools-golang", "k8s.io/kube-aggregator", "k8s.io/kubelet", "sigs.k8s.io/custom-metrics-apiserver",
}
