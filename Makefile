# Ottla's commands. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
GO ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION)
BOOTSTRAP ?= localhost:9092
FUZZTIME ?= 30s
DURATION ?= 30m
GOLANGCI_LINT_VERSION ?= v2.15.0

.PHONY: help
help: ## list the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

.PHONY: build
build: tools ## build bin/ottla, a static stripped binary
	CGO_ENABLED=0 $(GO) build -trimpath -pgo $(CURDIR)/cmd/ottla/cpu.pprof -ldflags '$(LDFLAGS)' -o bin/ottla ./cmd/ottla

.PHONY: run
run: build ## start one node on localhost:9092 with its data in ./ottla-data
	exec ./bin/ottla

.PHONY: cluster
cluster: build ## start three nodes on localhost:9092 to 9094 with their data in ./ottla-cluster
	exec ./scripts/cluster.sh ottla-cluster

.PHONY: chaos
chaos: build ## break a cluster in network namespaces for DURATION (default 30m), as root, and check that nothing is lost
	cd compat-tests && $(GO) run ./chaos -bin ../bin/ottla -duration $(DURATION)

.PHONY: tools
tools: ## install a Go toolchain if the machine has none
	@./scripts/install-tools.sh go

.PHONY: test
test: tools test-unit test-race test-diff test-clients ## everything that needs only Go: unit, race, differential, Go clients

.PHONY: test-unit
test-unit:
	$(GO) vet ./...
	$(GO) test ./...

.PHONY: test-race
test-race: race

.PHONY: race
race: ## the tests under the race detector
	$(GO) test -race -short ./...

.PHONY: test-diff
test-diff: build
	cd compat-tests && OTTLA_BIN=$(CURDIR)/bin/ottla $(GO) test ./diff/...

.PHONY: test-clients
test-clients: build
	./compat-tests/run.sh go

.PHONY: compat
compat: build ## every client, stock tool and upstream suite (fetches Java, Python, Node packages)
	./compat-tests/run.sh all

.PHONY: demo
demo: build ## a real file through the stock console tools, killed and restarted on the way
	./compat-tests/demo.sh

.PHONY: fuzz
fuzz: tools ## every fuzz target for FUZZTIME each (default 30s)
	./scripts/fuzz.sh $(FUZZTIME)

.PHONY: model
model: ## a million random steps of a log against its model, seed printed; then a power cut and an error at every file system call
	set -o pipefail; $(GO) test ./log -run 'TestTransactionModel$$' -v -model.steps=1000000 -timeout 30m | grep -v 'level=INFO'
	$(GO) test ./log -run 'TestCrash|TestError' -v -crash.all -timeout 30m

.PHONY: hostile
hostile: build ## attack the broker with damaged frames and hostile clients
	./compat-tests/hostile/run.sh

.PHONY: crash
crash: build ## kill the broker, tear its files, start it again; hand data over to Kafka and back
	./compat-tests/crash/run.sh

.PHONY: disk-full
disk-full: build ## fill the device of a running broker, a tmpfs, with and without its free-space floor
	./compat-tests/disk/run.sh

SEEDS ?= 10000
.PHONY: simulate
simulate: tools ## whole clusters through simulated trouble, SEEDS of them (default 10000)
	$(GO) test ./internal/testcluster -run '^TestSimulate$$' -timeout 0 -first -seeds $(SEEDS) -v | grep -v '^ *\(---\|===\) *\(RUN\|PASS\|PAUSE\|CONT\|NAME\)' ; exit $${PIPESTATUS[0]}

.PHONY: mutants
mutants: tools ## show that the simulation finds planted bugs, and by which seed
	$(GO) test ./internal/testcluster -run '^TestMutants$$' -timeout 0 -mutants -v

.PHONY: bench
bench: build ## raw loads and stock perf tools against Ottla and Kafka in turn, at most 20 minutes
	./bench/compare.sh

.PHONY: bench-quick
bench-quick: build ## the same in 4 minutes, for a look
	./bench/compare.sh -quick

.PHONY: bench-growth
bench-growth: build ## how CPU time a request grows with partitions and connections; KAFKA=1 for Kafka as well
	./bench/growth.sh $(if $(KAFKA),-kafka)

.PHONY: pgo
pgo: build ## take the CPU profile anew that builds are guided by (cmd/ottla/cpu.pprof)
	./bench/pgo.sh

.PHONY: bench-startup
bench-startup: build ## time to start with 10,000 partitions, after clean stops and kills
	cd bench && $(GO) run ./cmd/startup -ottla $(CURDIR)/bin/ottla -results results

.PHONY: bench-compaction
bench-compaction: build ## log compaction in Ottla and in Kafka in turn, on the same gigabyte
	./bench/compaction.sh

.PHONY: bench-cluster
bench-cluster: build ## three nodes of Ottla and of Kafka: 10,000 partitions, failover, replicated loads
	./bench/cluster.sh

MICROBENCH ?= microbench.txt
.PHONY: microbench
microbench: tools ## Go micro-benchmarks, six times each, into MICROBENCH (default microbench.txt) for benchstat; under 5 minutes
	set -o pipefail; $(GO) test -run '^$$' -bench . -skip '^Benchmark(Compaction|Serve)$$' -count 6 -benchtime 200ms \
		./log/... ./wire ./handlers ./coordinator/group ./controller/image | tee $(MICROBENCH)

.PHONY: kill9
kill9: build ## kill -9 the broker 50 times under load; tells how long recoveries took
	cd compat-tests && OTTLA_BIN=$(CURDIR)/bin/ottla $(GO) test ./crash -count=1 -v -run '^TestKill$$' -rounds 50 -timeout 30m

.PHONY: lint
lint: tools ## formatting, vet, import table and golangci-lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); exit 1; }
	$(GO) test ./internal/lint
	$(GO) run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION) run ./...

.PHONY: check
check: lint test ## lint and test: what must be green before a change lands

.PHONY: generate
generate: ## regenerate generated code; git must show no difference
	$(GO) generate ./...
	git diff --exit-code

.PHONY: clean
clean: ## remove what was built (not ./ottla-data)
	rm -rf bin
