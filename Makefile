# What a developer types. .ci/run does the same on a fresh machine.

GO   ?= go
LINT  = $(GO) tool -modfile=tools/go.mod golangci-lint

.DEFAULT_GOAL := build
.PHONY: help build quick test race lint fmt docs fuzz bench limits scale storm gobench browser pictures weigh packages ci full clean

help: ## this list
	@sed -nE 's/^([a-z]+): ## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 12

build: ## build ./respawnd
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-X main.release=$$(packaging/version)" -o respawnd ./cmd/respawnd

# The tests live for seconds: with Go's usual setting, collecting garbage takes a sixth of
# their time. Most memory of a test program is free again at its end.
quick test race: export GOGC = 400

quick: ## the short tests: no processes, one test of the whole daemon for each protocol
	$(GO) test -short ./...

test: ## all tests
	$(GO) test ./...

# Without the setting each of the 110 test programs waits a second at its end.
race: ## the tests with the race detector (needs a C compiler)
	GORACE=atexit_sleep_ms=0 $(GO) test -race ./...

lint: ## the linter, in the version that tools/go.mod names
	$(LINT) run ./...

fmt: ## format
	$(LINT) fmt ./...

docs: ## write the generated pages and tables in docs/ and configs/default.yaml
	$(GO) test ./daemon/services ./internal/verdicts ./internal/games -update
	$(GO) test ./test/docs -run Reference -update
	$(GO) test ./web/docs -run Pages -update

fuzz: ## all fuzz targets in 15 minutes; FUZZ=10m: as long for each, FUZZ_TOTAL=1h: for all
	./.ci/fuzz

bench: ## what each operation costs, as in docs/operators/costs.md (Linux, two minutes)
	cd tools/load && $(GO) run . table

limits: ## what a full daemon costs, each figure with its goal (Linux, ten minutes, 2 GB of disk)
	cd tools/load && $(GO) run . limit

scale: ## from 100 to 200,000 servers, written to docs/operators/costs.md (Linux, five minutes)
	cd tools/load && $(GO) run . scale -write ../../docs/operators/costs.md

storm: ## kills under load and flipped bits, over and over; STORM_ROUNDS=50 FLIP_STEP=499
	STORM_ROUNDS=$(or $(STORM_ROUNDS),50) $(GO) test -count 1 -timeout 1h -v -run 'Storm|Survives?AKill|SurviveKills' ./test/...
	FLIP_STEP=$(or $(FLIP_STEP),499) $(GO) test -count 1 -timeout 1h -v -run FlippedBit ./storage/bolt

gobench: ## the benchmarks of the packages
	$(GO) test -run '^$$' -bench . -benchmem ./...

browser: ## the pages in Chromium, with pictures in tools/browser/artefacts
	cd tools/browser && $(GO) test ./...

# The servers on them have addresses of a network that only the command sees.
pictures: ## the pictures of the documentation in docs/pictures (Linux, Chromium)
	cd tools/browser && unshare -rn sh -c 'ip link set lo up && ip addr add 198.18.0.1/15 dev lo && \
		exec $(GO) test -count 1 -run Pictures . -pictures ../../docs/pictures'

weigh: ## size and modules of the program against the budget
	./.ci/weigh

packages: ## archives, Debian and RPM packages in dist/
	packaging/build

ci: ## what CI runs for every change
	bash .ci/run

full: ## what takes longer: before a release, and after a large change
	bash .ci/full

clean: ## remove what build and packages made
	rm -rf respawnd respawnd.exe dist
