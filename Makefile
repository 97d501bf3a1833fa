# `make` alone lists what there is to do. Each line that it prints is the comment behind a target below.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help

# How long the demo's load lasts, in seconds; KEEP=1 leaves the cluster up, MANAGED=1 leaves kube-controller-manager's HPA loop on
# and scales by a WorkloadAutoscaler.
DEMO_SECONDS ?= 180
KEEP ?=
MANAGED ?=
# What only a person in front of the cluster uses.
DEMO_WITHOUT := kubectl,metrics-server

# One set of flags for everything that is built, so that Plimsoll, the control plane's parts, the unit tests and the linter's
# type checking share each compiled package; a test of internal/dev/devcluster/build compares them. -race needs cgo, therefore
# the tests under it are compiled a second time.
BUILD_FLAGS := -trimpath -gcflags=all=-dwarf=false -buildvcs=false
# A compiler lives for a second: without garbage collection, up to a limit that only the largest packages reach, it needs a
# quarter less processor time. The variables are the tools', not the tests'.
TOOLS := "-toolexec=env GOGC=off GOMEMLIMIT=2GiB"
GO := CGO_ENABLED=0 GOFLAGS='$(BUILD_FLAGS) $(TOOLS)' go
# What only develops is a module of its own, in a workspace with the product's, so that what both use is compiled once.
WORKSPACE := GOWORK=$(CURDIR)/internal/dev/go.work
GO_DEV := $(WORKSPACE) $(GO)
# Linking is most of what the test of a small package costs. Without symbols it takes two thirds of the time. What go vet finds,
# make lint finds too; go test would run it over every package that the tests import, once for each set of flags.
TEST_FLAGS := -ldflags='-s -w' -vet=off
GO_RACE := $(WORKSPACE) CGO_ENABLED=1 GOFLAGS='$(BUILD_FLAGS) $(TOOLS)' go test -race $(TEST_FLAGS)

# Builds the control plane's parts, the development cluster's program and Plimsoll, with progress; leaves alone what is there.
# It needs the standard library alone: without the workspace, no module is read.
DEVBUILD := GOWORK=off $(GO) run -C internal/dev ./cmd/devbuild

# How many steps of upstream's controller the tests are compared with; the full comparison is make oracle N=1000000 SEED=2026.
STEPS := 4000

# The demo counts from here, builds included.
BEGAN := $(shell date +%s)

HELM_VERSION := $(shell awk '/helm.sh\/helm\/v4 v/ {sub(/.*helm\/v4 /, ""); print $$1}' tools/helm/go.mod)
LINT_VERSION := $(shell awk '$$1 ~ "golangci/golangci-lint/v2$$" {print $$2}' tools/lint/go.mod)
# The Go release is part of the name: a linter does not read what a newer compiler wrote.
LINT := bin/golangci-lint-$(LINT_VERSION)-$(shell go env GOVERSION)

# The modules with code of ours; the others under tools only name what they build.
MODULES := . internal/dev test/oracle test/chart test/ui tools/codegen tools/e2e

# The core, what feeds it, and the workload model.
BENCHED := ./internal/decide/... ./internal/observe/... ./internal/collect/kubelet/... ./internal/kube/podindex ./internal/workloadmodel/... ./internal/webhook

# The tests of these packages start clusters. They wait more than they compute: four packages at a time leave two cores time for
# the tests that only compute.
CLUSTERED := /internal/dev/(test/integration(/|$$)|devcluster$$)
AT_A_TIME := 4
# Those that take longest start first, or the last one would run alone for minutes.
LONGEST := handover forecast direct vertical/whole faults workloadautoscaler/scaling scaling vertical/recommender migrate

# Nothing in these packages, their tests and what they reach of ours runs at the same time as something else: the race detector
# would find nothing. A test holds that.
SEQUENTIAL := /plimsoll/(api|internal/(advise/recurring|collect/(kubelet/(text|kubelettest)|page)|decide|dev/image|explain/(horizontal|loadreport)|loadhistory|migrate/(convert|keda)|observe/horizontal|series|simulate/(load|loop|meter|score|world)|workloadmodel))(/|$$)

# These compute for long, and the race detector would multiply that by 5 to 30. What they compute with runs under it in its own
# tests. These tests of theirs, which are short, start the goroutines that they have.
LONG := /(internal/(advise/rules|dev/(bench/(scoreboard|campaign(/quick)?)|test/node/recorded)|quantity|simulate|ui/report)|cmd/plimsoll/internal/simulate|test/(architecture|combined))$$
LONG_RACED := Test(Ablation|MeasureSideBySide|Note|SimulateCompares)$$

# The tests of these packages run in virtual time. They do not notice that clusters slow them down, and fill the waits of those.
VIRTUAL := /internal/controller/horizontal(/|$$)

LIST = $(WORKSPACE) go list ./... ./internal/dev/...
UNIT = $$($(LIST) | grep -vE '$(CLUSTERED)')
UNIT_RACED = $$($(LIST) | grep -vE '$(CLUSTERED)|$(SEQUENTIAL)|$(LONG)|$(VIRTUAL)')
UNIT_VIRTUAL = $$($(LIST) | grep -E '$(VIRTUAL)')
UNIT_UNRACED = $$($(LIST) | grep -E '$(SEQUENTIAL)|$(LONG)')
LONG_PACKAGES = $$($(LIST) | grep -E '$(LONG)')
WITH_CLUSTER = $(addprefix github.com/plimsoll-dev/plimsoll/internal/dev/test/integration/,$(LONGEST)) \
	$$($(LIST) | grep -E '$(CLUSTERED)')

# What make test-versions runs on other versions of Kubernetes: HPAs beside kube-controller-manager's loop and without it,
# WorkloadAutoscalers and the rules of their definition, VPAs, webhooks, an upgrade of the definitions, migrate, explain, doctor, the
# installation and its faults.
VERSIONS ?= 1.30 1.32 1.34 1.36
VERSIONED := $(addprefix ./internal/dev/test/integration/,scaling handover workloadautoscaler/... vertical/... upgrade migrate explain doctor faults)

NICE := nice -n 19 env

# The go command remembers the results of tests, and does not see that files outside of a test's module have changed. It does see
# that this variable has, which those tests read.
OUTSIDE = PLIMSOLL_OUTSIDE=$$(find Makefile README.md go.mod go.sum charts config docs tools internal/collect/kubelet/text/testdata \
	-type f | sort | xargs sha256sum | sha256sum | cut -c 1-16)

# The chart, rendered by Helm's library, which is no requirement of the product.
CHART_TESTS = $(GO) test -C test/chart $(TEST_FLAGS) -timeout 5m .
CODEGEN_TESTS = $(GO) test -C tools/codegen $(TEST_FLAGS) ./quantities

.PHONY: help
help: ## list the targets
	@awk -F ':.*## |^##@ ' '/^##@ / {printf "\n%s\n", $$2} /^[a-z-]+:.*## / { \
		line = sprintf("  make %-18s", $$1); count = split($$2, words, " "); \
		for (i = 1; i <= count; i++) { \
			if (length(line) + 1 + length(words[i]) > 100) {print line; line = sprintf("%25s", "")} \
			line = line " " words[i]}; \
		print line}' $(MAKEFILE_LIST)

##@ Use

.PHONY: demo
demo: ## watch Plimsoll scale two Deployments, by CPU and by requests per second, on a real API server (DEMO_SECONDS=180, KEEP=1 leaves it up, MANAGED=1 by a WorkloadAutoscaler)
	@$(DEVBUILD) $(if $(KEEP),,-without=$(DEMO_WITHOUT))
	@bin/devcluster demo --began=$(BEGAN) --seconds=$(DEMO_SECONDS) $(if $(KEEP),--keep) \
		$(if $(MANAGED),--managed)

.PHONY: cluster
cluster: tools ## start a development cluster and print its kubeconfig; Ctrl-C removes it
	@bin/devcluster cluster

.PHONY: tutorial
tutorial: ## start the cluster of docs/tutorial.md: kube-controller-manager's HPA loop on, Plimsoll beside it; Ctrl-C removes it
	@$(DEVBUILD)
	@bin/devcluster cluster --hpa-controller --plimsoll

.PHONY: build
build: ## build the program: bin/plimsoll
	@$(DEVBUILD) -only plimsoll

.PHONY: image
image: build ## write the container image as an OCI archive under dist/ (no registry needed)
	@mkdir -p dist
	@$(GO_DEV) run ./internal/dev/cmd/image --program=bin/plimsoll

.PHONY: image-scalers
image-scalers: ## write the image of plimsoll-scalers, which reads metrics with KEDA's scalers, as an OCI archive under dist/ (compiles them: ten minutes the first time)
	@mkdir -p bin dist && cd scalers && $(GO) build -ldflags='-s -w' -o ../bin/plimsoll-scalers ./cmd/plimsoll-scalers
	@$(GO_DEV) run ./internal/dev/cmd/image --program=bin/plimsoll-scalers --output=dist/plimsoll-scalers-image.tar \
		--tag=ghcr.io/plimsoll-dev/plimsoll-scalers:dev

.PHONY: release
release: helm ## write the files of a release under dist/release/VERSION (VERSION=v0.1.0; DIRTY=1 although files are not committed)
	@$(GO_DEV) run ./internal/dev/cmd/release --version='$(VERSION)' $(if $(DIRTY),--allow-dirty)

##@ Test

.PHONY: test
test: tools ## run every test, with the race detector where goroutines run, those on a real API server too
	@echo "Compiling the tests for the race detector: some minutes the first time. Then each package reports when its tests have run."
	@$(DEVBUILD) -tests -race $(UNIT_RACED) $(LONG_PACKAGES) $(UNIT_VIRTUAL) $(WITH_CLUSTER) || echo "The packages that compile are tested all the same."
	@$(OUTSIDE) $(GO_RACE) -timeout 15m $(UNIT_RACED)
	@$(OUTSIDE) $(GO_RACE) -timeout 15m -run '$(LONG_RACED)' $(LONG_PACKAGES)
	@$(MAKE) --jobs 2 test-clusters test-computing

# Clusters wait more than they compute. What only computes, without a clock, fills those waits, and gives way to the clusters.
.PHONY: test-computing
test-computing:
	@$(OUTSIDE) $(NICE) $(GO_RACE) -timeout 15m $(UNIT_VIRTUAL)
	@$(OUTSIDE) $(NICE) $(GO_DEV) test $(TEST_FLAGS) -timeout 15m $(UNIT_UNRACED)
	@$(OUTSIDE) $(NICE) $(CHART_TESTS)
	@$(NICE) $(CODEGEN_TESTS)
	@echo "Comparing with upstream's own controller in $(STEPS) steps of random timelines (make oracle compares more)."
	@$(NICE) $(GO) test -C test/oracle $(TEST_FLAGS) -timeout 15m . -args -steps=$(STEPS)
	@echo "Comparing with upstream's vertical autoscaler in random histories (make oracle-vertical compares more)."
	@$(NICE) $(GO) test -C test/oracle $(TEST_FLAGS) -timeout 15m $$(go list -C test/oracle ./... | grep -v '/test/oracle$$')

.PHONY: test-clusters
test-clusters:
	@mkdir -p dist
	@rm -rf dist/failed-tests
	@$(GO_RACE) -count 1 -timeout 40m -p $(AT_A_TIME) -json $(WITH_CLUSTER) | $(GO_DEV) run ./internal/dev/cmd/testprogress dist/cluster-tests.log

.PHONY: unit
unit: ## run the tests that need no cluster, without the race detector (PKG=./internal/workloadmodel for one)
	@$(OUTSIDE) $(GO_DEV) test $(TEST_FLAGS) -timeout 5m $(or $(PKG),$(UNIT))
	@$(if $(PKG),,$(OUTSIDE) $(CHART_TESTS))
	@$(if $(PKG),,$(CODEGEN_TESTS))

.PHONY: test-node
test-node: ## test on a real node: kills for want of memory, resizes, admission servers (root; ten minutes; RUN=TestThrottled for one, HOUSEKEEPING=1s for a kubelet with that interval)
	@echo "Compiling the tests. They then say what this machine lacks, or build the rest: the kubelet takes minutes the first time."
	@$(GO_DEV) test -count 1 -timeout 60m -v -tags node ./internal/dev/test/node $(if $(RUN),-run '$(RUN)') $(if $(HOUSEKEEPING),-housekeeping='$(HOUSEKEEPING)')

.PHONY: record-node
record-node: ## record anew what a kubelet answers and what Plimsoll decides on a real node, which make unit decides again (root; five minutes)
	@echo "Compiling the test. It then says what this machine lacks, or builds the rest: the kubelet takes minutes the first time."
	@$(GO_DEV) test -count 1 -timeout 60m -v -tags node -run TestRecord ./internal/dev/test/node/recorded -args -update

.PHONY: test-prometheus
test-prometheus: ## test history, alerts, dashboard and queries with a real Prometheus (builds it: some minutes the first time)
	@mkdir -p bin
	@echo "Building Prometheus and promtool; some minutes the first time."
	@$(GO) build -modfile=tools/prometheus/go.mod -tags remove_all_sd -o bin/ github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
	@$(GO_DEV) test -count 1 -timeout 15m -tags prometheus ./internal/dev/test/prometheus

.PHONY: test-scalers
test-scalers: $(LINT) ## build, lint and test plimsoll-scalers, which reads metrics with KEDA's scalers (compiles them: ten minutes the first time)
	@cd scalers && CGO_ENABLED=0 GOFLAGS='$(BUILD_FLAGS)' $(CURDIR)/$(LINT) run --config ../.golangci.yml ./...
	@mkdir -p bin && cd scalers && $(GO) build -ldflags='-s -w' -o ../bin/plimsoll-scalers ./cmd/plimsoll-scalers
	@cd scalers && $(GO) test $(TEST_FLAGS) ./...

.PHONY: test-keda
test-keda: tools ## test beside KEDA, and migrate from it under load (builds KEDA: ten minutes the first time; installs servers from Debian; RUN=TestMigrateNative for one)
	@if ! command -v redis-server rabbitmq-server mariadbd >/dev/null || ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null; then \
		echo "Installing the servers whose queues are read, from Debian."; \
		apt-get install --yes --no-install-recommends redis-server rabbitmq-server postgresql mariadb-server >/dev/null; \
	fi
	@echo "Building KEDA's operator and metrics server; ten minutes the first time."
	@$(DEVBUILD) -only keda-operator,keda-metrics-server
	@$(GO_DEV) test -count 1 -timeout 30m -v -tags keda ./internal/dev/test/keda $(if $(RUN),-run '$(RUN)')

.PHONY: test-chart
test-chart: tools helm ## lint the chart and render it for many sets of values; install, upgrade under load, roll back and remove it (RUN=TestRelease for one)
	@cd test/chart && $(GO) test $(TEST_FLAGS) -count 1 -timeout 40m -v -tags helm $(if $(RUN),-run '$(RUN)') .

.PHONY: test-ui
test-ui: tools test/ui/node_modules/.package-lock.json ## test the page of plimsoll ui in headless Chromium, on the development cluster too, with 10,000 autoscalers (needs npm; installs Chromium from Debian if it is missing; RUN=TestWhatIf for one, PICTURES=1 writes docs/images)
	@if ! command -v chromium >/dev/null; then \
		echo "Installing Chromium from Debian."; \
		apt-get install --yes --no-install-recommends chromium fonts-dejavu-core; \
	fi
	@cd test/ui && $(GO) test $(TEST_FLAGS) -count 1 -timeout 30m -v -tags ui $(if $(RUN),-run '$(RUN)') . $(if $(PICTURES),-args -pictures)

.PHONY: test-migrate
test-migrate: tools ## migrate HPAs there and back under steady and rising load, beside each other (TIMES=10 of each; one minute)
	@$(GO_DEV) test -count 1 -timeout 20m -v -run 'Test(Steady|Rising)Load' ./internal/dev/test/integration/migrate -args -times=$(or $(TIMES),10)

.PHONY: test-versions
test-versions: ## run the integration tests on other versions of Kubernetes; ends in a table (VERSIONS='1.30 1.32 1.34 1.36' of tools/versions, PKG=./internal/dev/test/integration/doctor RUN=TestX for some; builds each: minutes the first time)
	@mkdir -p dist/versions
	@for version in $(VERSIONS); do \
		echo "Kubernetes $$version: building its control plane, then compiling the tests."; \
		rm -f dist/versions/v$$version.*; \
		$(DEVBUILD) -kubernetes=$$version || continue; \
		skip=$$($(GO_DEV) run ./internal/dev/cmd/testversions skip $$version); \
		PLIMSOLL_BIN=$(CURDIR)/bin/v$$version $(GO_DEV) test $(TEST_FLAGS) -count 1 -timeout 40m -p $(AT_A_TIME) -json -skip "$$skip" \
			$(if $(RUN),-run '$(RUN)') $(or $(PKG),$(VERSIONED)) | tee dist/versions/v$$version.json | \
			$(GO_DEV) run ./internal/dev/cmd/testprogress dist/versions/v$$version.log || true; \
	done
	@$(GO_DEV) run ./internal/dev/cmd/testversions table $(VERSIONS)

.PHONY: test-release
test-release: helm ## build a release twice, compare every byte, and check what is in it (AGAIN=linux/amd64 for one platform the second time, FRESH=1 to compile anew then)
	@$(GO) build -modfile=tools/krew/go.mod -ldflags='-s -w' -o bin/ sigs.k8s.io/krew/cmd/krew sigs.k8s.io/krew/cmd/validate-krew-manifest
	@$(GO) test -C internal/dev -count 1 -timeout 120m -v -tags release ./test/release -args -again=$(AGAIN) $(if $(FRESH),-fresh)

.PHONY: oracle
oracle: ## compare Plimsoll with upstream's own controller in random timelines, HPAs and then their specs in WorkloadAutoscalers (N=100000 steps, SEED=1)
	@cd test/oracle && $(GO) test -count 1 -timeout 0 -v -run 'Test(Oracle|PastedSpec)$$' . -args -steps=$(or $(N),100000) \
		-pasted-steps=$(or $(N),100000) -seed=$(or $(SEED),1)

.PHONY: oracle-vertical
oracle-vertical: ## compare recommender, updater and admission with upstream's on random inputs (N=10000 of each, SEED=1); ends in one table
	@cd test/oracle && $(GO) test -count 1 -timeout 0 -v -run 'Test(Recommender|Updater|Admission|Fit|Validation)$$' ./vertical -args \
		-histories=$(or $(N),10000) -history-seed=$(or $(SEED),1) -history-divergences=50 \
		-updater-timelines=$(or $(N),10000) -updater-seed=$(or $(SEED),1) \
		-admission-pods=$(or $(N),10000) -admission-objects=$(or $(N),10000) -admission-seed=$(or $(SEED),1)

.PHONY: e2e-upstream
e2e-upstream: ## run Kubernetes' own end-to-end tests of HPAs, unmodified, on a real node (root; an hour and a half; SUBJECT=upstream for its own loop, FOCUS='part of a name' RUNS=3 OUT=file.json FLAGS=...)
	@echo "Compiling the runner; it takes a while the first time. It then says what this machine lacks, or builds the rest."
	@$(GO_DEV) run ./internal/dev/cmd/bench e2e $(if $(SUBJECT),--subjects='$(SUBJECT)') $(if $(FOCUS),--focus='$(FOCUS)') \
		$(if $(RUNS),--runs='$(RUNS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

.PHONY: e2e-vpa
e2e-vpa: ## run the end-to-end tests of upstream's vertical autoscaler, unmodified, on a real node (TESTS=file with them compiled; root; hours; SUBJECT=upstream for its own programs, FOCUS, RUNS, OUT, FLAGS as above)
	@test -x '$(TESTS)' || { echo "TESTS=file: the compiled tests of upstream's repository; docs/contributing/real-node.md says where they are."; exit 1; }
	@echo "Compiling the runner; it takes a while the first time. It then says what this machine lacks, or builds the rest."
	@$(GO_DEV) run ./internal/dev/cmd/bench e2e --vertical-tests='$(abspath $(TESTS))' --logs=dist/e2e-vpa $(if $(SUBJECT),--subjects='$(SUBJECT)') \
		$(if $(FOCUS),--focus='$(FOCUS)') $(if $(RUNS),--runs='$(RUNS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

##@ Measure

.PHONY: bench
bench: ## run the benchmarks, upstream's calculator beside the core too; ends in benchstat's output (about five minutes)
	@mkdir -p dist
	@$(GO) test -run '^$$' -bench . -benchmem -count 6 $(BENCHED) | tee dist/bench.txt
	@cd test/oracle && $(GO) test -run '^$$' -bench . -count 6 . | tee -a ../../dist/bench.txt
	@go tool -modfile=tools/bench/go.mod benchstat dist/bench.txt

.PHONY: bench-scale
bench-scale: ## many autoscalers on the development cluster, upstream's loop beside Plimsoll (OBJECTS=400 PODS_PER=3 RUNS=3 OUT=file.json FLAGS=...; FLAGS=--subjects=plimsoll,plimsoll-half for half WorkloadAutoscalers, plimsoll,plimsoll-own for metrics of the pods' own, plimsoll,plimsoll-learnt for full histories and forecasts that have learnt, plimsoll,plimsoll-agents for agents of the nodes, plimsoll,plimsoll-pages for ten pages of plimsoll ui open)
	@$(DEVBUILD) -only etcd,kube-apiserver,kube-controller-manager,plimsoll
	@echo "Compiling the benchmark; it takes a while the first time."
	@$(GO_DEV) run ./internal/dev/cmd/bench scale $(if $(OBJECTS),--objects='$(OBJECTS)') $(if $(PODS_PER),--pods-per='$(PODS_PER)') \
		$(if $(RUNS),--runs='$(RUNS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

.PHONY: bench-reaction
bench-reaction: ## seconds from a load's begin to more replicas, on a real node, upstream beside Plimsoll (root; three quarters of an hour; RUNS=5 OUT=file.json FLAGS=...)
	@echo "Compiling the benchmark; it takes a while the first time. It then says what this machine lacks, or builds the rest."
	@$(GO_DEV) run ./internal/dev/cmd/bench reaction $(if $(RUNS),--runs='$(RUNS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

.PHONY: bench-reaction-sim
bench-reaction-sim: ## the same on simulated nodes, without root (half an hour; RUNS=5 OUT=file.json FLAGS=...)
	@$(DEVBUILD) -only etcd,kube-apiserver,kube-controller-manager,kube-scheduler,kwok,metrics-server,plimsoll
	@echo "Compiling the benchmark; it takes a while the first time."
	@$(GO_DEV) run ./internal/dev/cmd/bench reaction --simulated $(if $(RUNS),--runs='$(RUNS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

.PHONY: bench-vertical
bench-vertical: ## many vertical autoscalers, upstream's recommender and updater beside Plimsoll (an hour; OBJECTS=1000 PODS_PER=2 RUNS=3 OUT=file.json FLAGS=...)
	@$(DEVBUILD) -only etcd,kube-apiserver,kube-controller-manager,kube-scheduler,kwok,metrics-server,upstream-vpa-recommender,upstream-vpa-updater,plimsoll
	@echo "Compiling the benchmark; it takes a while the first time."
	@$(GO_DEV) run ./internal/dev/cmd/bench vertical $(if $(OBJECTS),--objects='$(OBJECTS)') $(if $(PODS_PER),--pods-per='$(PODS_PER)') \
		$(if $(RUNS),--runs='$(RUNS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

.PHONY: campaign
campaign: ## upstream's decisions beside Plimsoll's on several hundred loads, in virtual time (minutes; KUBELETS=second, agents or sidecar, CASES='^spike/' SEEDS=1,2 OUT=file.json FLAGS=--ablation)
	@echo "Compiling the campaign; it takes a while the first time."
	@$(GO_DEV) run ./internal/dev/cmd/bench campaign $(if $(KUBELETS),--kubelets='$(KUBELETS)') $(if $(CASES),--cases='$(CASES)') \
		$(if $(SEEDS),--seeds='$(SEEDS)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

.PHONY: scoreboard
scoreboard: ## upstream's loop against Plimsoll's and forecasts on many loads, in virtual time (TRACES=dir OUT=file.json FLAGS=...)
	@$(GO_DEV) run ./internal/dev/cmd/bench scoreboard $(if $(TRACES),--traces='$(TRACES)') $(if $(OUT),--out='$(OUT)') $(FLAGS)

##@ Maintain

.PHONY: lint
lint: $(LINT) ## check style, walls, formatting, module files and workflows
	@status=0; \
	unformatted=$$(gofmt -s -l .); \
	if [[ -n $$unformatted ]]; then echo "run gofmt -s -w on:"; echo "$$unformatted"; status=1; fi; \
	for module in $(MODULES); do \
		echo "== $$module"; \
		(cd $$module && go mod tidy -diff && CGO_ENABLED=0 GOFLAGS='$(BUILD_FLAGS)' $(CURDIR)/$(LINT) run ./...) || status=1; \
	done; \
	echo "== .github/workflows"; \
	CGO_ENABLED=0 GOFLAGS='$(BUILD_FLAGS)' go tool -modfile=tools/actionlint/go.mod actionlint -shellcheck= -pyflakes= .github/workflows/*.yml || status=1; \
	echo "== the ten largest of what no rule limits"; \
	CGO_ENABLED=0 GOFLAGS='$(BUILD_FLAGS)' go test $(TEST_FLAGS) -v -run 'TestLargest$$' ./test/architecture | grep -v -e '^=== ' -e '^--- ' -e '^ok' -e '^PASS' || status=1; \
	exit $$status

.PHONY: generate
generate: ## write what is generated: deep copies and CustomResourceDefinitions from api/, Go from .proto; a test tells when it is stale
	@rm -f config/crd/*.yaml config/crd/plimsoll/plimsoll.dev_*.yaml api/*/*/zz_generated.deepcopy.go
	@$(GO) tool -modfile=tools/codegen/go.mod controller-gen object crd:allowDangerousTypes=true paths=./api/... output:crd:dir=config/crd
	@mv config/crd/plimsoll.dev_*.yaml config/crd/plimsoll
	@$(GO) run -C tools/codegen ./quantities $(CURDIR)/config/crd/autoscaling.k8s.io_*.yaml $(CURDIR)/config/crd/plimsoll/plimsoll.dev_*.yaml
	@rm -f internal/collect/externalscaler/pb/*.pb.go
	@$(GO) run -C tools/codegen ./protoc $(CURDIR)/internal/collect/externalscaler/pb externalscaler.proto
	@ls api/*/*/*.go config/crd/*.yaml config/crd/plimsoll/*.yaml internal/collect/externalscaler/pb/* \
		tools/codegen/go.mod tools/codegen/*/*.go | grep -v _test.go | xargs sha256sum > api/generated.sum

.PHONY: chart
chart: ## write what the chart takes from config/ and the table of its README; a test tells when it is stale
	@cd test/chart && $(GO) test $(TEST_FLAGS) -count 1 . -args -update

.PHONY: helm
helm: ## build Helm into bin/ (some minutes the first time)
	@mkdir -p bin
	@$(GO) build -C tools/helm -ldflags '-s -w -X helm.sh/helm/v4/internal/version.version=$(HELM_VERSION)' -o $(CURDIR)/bin/helm helm.sh/helm/v4/cmd/helm

.PHONY: reference
reference: ## write docs/reference from the program's own flags, fields, metrics, conditions and divergences; tests tell when it is stale
	@$(GO) test $(TEST_FLAGS) -count 1 ./cmd/plimsoll -run 'TestReference$$' -args -update
	@$(GO) test $(TEST_FLAGS) -count 1 ./test/docs -run 'Test(Fields|Metrics|Divergences|Conditions)$$' -args -update

.PHONY: docs
docs: bin/hugo site/node_modules/.package-lock.json ## build the site of the documentation into dist/docs and test its links and its search (needs npm; VERSION=v1.2.3 is the version that it shows)
	@HUGO_PARAMS_VERSION=$(or $(VERSION),main) bin/hugo --source site --destination ../dist/docs --cleanDestinationDir \
		--panicOnWarning --quiet
	@$(GO) test $(TEST_FLAGS) -count 1 -tags site ./test/docs
	@echo "The site is built: dist/docs/index.html"

.PHONY: tools
tools: ## build the control plane's parts into bin/ (about ten minutes the first time, nothing the second)
	@$(DEVBUILD)

.PHONY: clean
clean: ## remove everything that was built
	rm -rf bin dist demo-summary.json

$(LINT):
	@echo "Building golangci-lint $(LINT_VERSION); the first time takes a few minutes."
	@rm -f bin/golangci-lint*
	@$(GO) build -C tools/lint -ldflags '-s -w' -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/hugo: tools/hugo/go.mod tools/hugo/go.sum
	@echo "Building Hugo; the first time takes some minutes."
	@$(GO) build -C tools/hugo -ldflags '-s -w' -o $(CURDIR)/$@ github.com/gohugoio/hugo

# The search of the site, as site/package-lock.json pins it.
site/node_modules/.package-lock.json: site/package-lock.json
	@cd site && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# What make test-ui checks the page's accessibility with, as test/ui/package-lock.json pins it.
test/ui/node_modules/.package-lock.json: test/ui/package-lock.json
	@cd test/ui && npm ci --ignore-scripts --no-audit --no-fund --silent
	@touch $@
