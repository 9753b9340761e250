# Lazaret: `make run` opens the dashboard, `make test` runs every test.
# Everything built lands in bin/, everything cached in .cache/.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: help setup build run test check fmt lint unit bench fuzz clean

export CGO_ENABLED := 0
BUILD   := internal/build
SOURCES := $(shell find . -path ./bin -prune -o -path ./.cache -prune -o \( -name '*.go' -o -name go.mod -o -name go.sum \) -print)
FLAGS   := -trimpath -ldflags '-s -w'
TOOL    := go tool -modfile=$(BUILD)/tools/go.mod

help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what this host lacks (says what and why; quick when nothing is missing)
	@$(BUILD)/setup run

build: bin/lazaret bin/lazaret-escalate bin/runsc ## build the three programs into bin/

run: setup build ## prepare the default image and open the dashboard for this folder
	@bin/lazaret image prepare
	@bin/lazaret

test: build ## run all tests, with the real sandbox, as every kind of user this host allows
	@$(BUILD)/setup test
	@$(BUILD)/test

check: ## format, vet, lint, import rules, unit tests
	@bad=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$bad" || { echo "not gofmt'd: $$bad"; exit 1; }
	go vet ./... && go vet -tags sandbox ./...
	$(TOOL) golangci-lint run ./...
	go test ./...

bench: build ## time cold start, warm attach, key to echo beside their peers; prints JSON and a table
	@$(BUILD)/setup test
	@go run ./internal/bench

fuzz: ## run every fuzz target for FUZZTIME (default 20s) each
	@$(BUILD)/fuzz $(or $(FUZZTIME),20s)

clean: ## remove what was built
	rm -rf bin .cache

bin/lazaret: $(SOURCES)
	@echo "building bin/lazaret (a minute or two the first time)"
	@go build $(FLAGS) -o $@ ./cmd/lazaret

bin/lazaret-escalate: $(SOURCES)
	@go build $(FLAGS) -o $@ ./cmd/lazaret-escalate

# gVisor must be built without cgo: its sandbox process starts itself again in an
# empty root directory, where a dynamic loader is not to be found.
bin/runsc: cmd/runsc/go.mod cmd/runsc/go.sum cmd/runsc/main.go
	@echo "building bin/runsc from gVisor's pinned source (some minutes, once)"
	@cd cmd/runsc && go build -trimpath -ldflags "-s -w -X gvisor.dev/gvisor/runsc/version.version=$$(go list -m -f '{{.Version}}' gvisor.dev/gvisor)" -o ../../$@ .
	@touch $@
