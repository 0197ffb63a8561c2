.DEFAULT_GOAL := help
.PHONY: help up demo redrive-demo test faults load blast outage bill check format build deploy-local rie conformance validate events dashboard contracts fuzz requirements adopt-check clean

# Any Python from 3.11 on will do. A name can be there and not work (pyenv's shims), so each one is tried.
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$name -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& { echo $$name; break; }; done)
BIN := .venv/bin
# uv needs seconds where pip needs a minute, but reads no pip.conf: where packages come from there, pip installs.
INSTALL = $(BIN)/uv pip install --quiet --python $(@D) "$$@" \
	|| { echo "... once more, with pip:"; $(@D)/bin/python -m pip install --quiet --disable-pip-version-check "$$@"; }
SAM_CLI_VERSION := 1.170.0
AWS_CLI_VERSION := 1.46.3
MINISTACK_VERSION := 1.5.33
RUNTIME_CLIENT_VERSION := 4.2.2
SCHEMATHESIS_VERSION := 4.32.5
CHECKOV_VERSION := 3.3.30
CFRIPPER_VERSION := 1.22.1
export SAM_CLI_TELEMETRY := 0

help: ## List what make can do
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

up: .venv/local ## Run everything here: API, table, topic, queues, mail. Ctrl-C ends it
	@$(BIN)/python -m infra.local up

demo: .venv/local ## Watch orders, failures, a webhook, a reminder, an account in order and two lanes, as a timeline
	@$(BIN)/python -m infra.local.shows demo

redrive-demo: .venv/local .venv-aws/$(AWS_CLI_VERSION) ## Watch five redrives of dead letters with the AWS CLI
	@$(BIN)/python -m infra.local.redrive_demo .venv-aws/bin/aws

# Bytecode is kept even where the environment says otherwise: some thirty processes would compile the same files.
test: .venv/dev ## Run the tests
	@PYTHONDONTWRITEBYTECODE= $(BIN)/pytest --numprocesses 2 --dist worksteal --quiet

faults: .venv/dev ## Fail every call in every way, and look for planted bugs (a few minutes)
	@$(BIN)/python -m tests.faults

load: .venv/local ## Place 5,000 orders from 8 clients, and print orders per second
	@$(BIN)/python -m infra.local.shows load

outage: .venv/local ## Watch 3,000 receipts live through an hour without mail (a minute or two)
	@$(BIN)/python -m infra.local.shows outage

blast: .venv/local ## Send a campaign to 50,000 with password resets among it, and print both lanes' latencies
	@$(BIN)/python -m infra.local.shows blast

bill: .venv/local ## Print what an order costs: AWS calls and write units, step by step
	@$(BIN)/python -m infra.local.shows bill

check: .venv/dev .venv-scan/$(CHECKOV_VERSION)-$(CFRIPPER_VERSION) ## Check style, types, imports, the template and its checks
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/python -m infra.checks
	@$(BIN)/python -m infra.checks.thorough .venv-scan/bin

format: .venv/dev ## Put the code in its usual form
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format --quiet

events: .venv/dev ## Write the JSON Schema of each new event version to docs/events
	@$(BIN)/python -m infra.events

contracts: .venv/dev events ## Write docs/openapi.yaml and docs/asyncapi.yaml from the code
	@$(BIN)/python -m infra.contracts

fuzz: .venv/local .venv-fuzz/$(SCHEMATHESIS_VERSION) ## Ask the API all that its contract allows and much that it does not, as two callers
	@$(BIN)/python -m infra.fuzz .venv-fuzz/bin/schemathesis $(if $(SEED),--seed $(SEED))
	@$(BIN)/python -m infra.fuzz .venv-fuzz/bin/schemathesis --prove

dashboard: .venv/local ## Write the dashboard in template.yaml from its queues and alarms
	@$(BIN)/python -m infra.dashboard

requirements: .venv/dev ## Lock what is deployed: the newest that pyproject.toml allows, by hash
	@$(BIN)/python -m infra.requirements

build: .venv/local .venv-sam/$(SAM_CLI_VERSION) ## Validate the template and build the functions as they are deployed
	@$(BIN)/python -m infra.build $(if $(ARCHITECTURE),--architecture $(ARCHITECTURE)) $(if $(TWICE),--twice)

rie: .venv/local .venv-sam/$(SAM_CLI_VERSION) .venv-rie/$(RUNTIME_CLIENT_VERSION) ## Call each built function under AWS's Runtime Interface Emulator
	@$(BIN)/python -m infra.build --here --no-validation --place .aws-sam/here
	@$(BIN)/python -m infra.rie .aws-sam/here .venv-rie/bin/python .venv-sam

deploy-local: .venv/local .venv-sam/$(SAM_CLI_VERSION) .venv-ministack/$(MINISTACK_VERSION) ## sam deploy, an order, an update, sam delete: on MiniStack in place of AWS
	@$(BIN)/python -m infra.deploy_local .venv-ministack/bin/ministack .venv-sam/bin/sam

conformance: .venv/dev .venv-ministack/$(MINISTACK_VERSION) ## Hold the model of AWS against MiniStack, by the tests that hold it against moto
	@POSTROOM_MINISTACK=.venv-ministack/bin/ministack $(BIN)/pytest --quiet tests/contract -k ministack

adopt-check: .venv/dev .venv-sam/$(SAM_CLI_VERSION) .venv-scan/$(CHECKOV_VERSION)-$(CFRIPPER_VERSION) ## Do what docs/adopt.md says, in a copy: another business in place of the shop (QUICK=1: without its whole tests; DEPLOY=1: on MiniStack, too)
	@$(if $(DEPLOY),$(MAKE) --no-print-directory .venv-ministack/$(MINISTACK_VERSION))
	@$(BIN)/python -m infra.adopt.rehearsal $(if $(QUICK),--quick) $(if $(DEPLOY),--ministack .venv-ministack/bin/ministack)

clean: ## Remove what make has made
	rm -rf .venv .venv-aws .venv-fuzz .venv-ministack .venv-rie .venv-sam .venv-scan .aws-sam .mypy_cache .pytest_cache .ruff_cache *.egg-info

.venv/bin/python:
	$(if $(PYTHON),,$(error Python 3.11 or newer, with venv and pip, was not found. \
	Install one (apt: python3 python3-venv, brew: python, or pyenv), or name one: make PYTHON=/path/to/python))
	@echo "Making .venv with $(PYTHON) ..."
	@$(PYTHON) -m venv .venv

.venv/bin/uv: | .venv/bin/python
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(BIN)/python -m ensurepip >/dev/null
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9,<1'

.venv/local: pyproject.toml | .venv/bin/uv
	@echo "Installing what the local run needs ..."
	@set -- --editable '.[local]'; $(INSTALL)
	@touch $@

.venv/dev: pyproject.toml | .venv/bin/uv
	@echo "Installing what the tests and checks need ..."
	@set -- --editable '.[dev]'; $(INSTALL)
	@touch $@ .venv/local

# In a venv of its own: the SAM CLI pins versions that the rest of us should not be held to.
.venv-sam/$(SAM_CLI_VERSION): | .venv/bin/uv
	@echo "Installing the SAM CLI ..."
	@$(PYTHON) -m venv .venv-sam
	@set -- aws-sam-cli==$(SAM_CLI_VERSION); $(INSTALL)
	@touch $@

# In a venv of its own for the same reason: it pins botocore.
.venv-aws/$(AWS_CLI_VERSION): | .venv/bin/uv
	@echo "Installing the AWS CLI ..."
	@$(PYTHON) -m venv .venv-aws
	@set -- awscli==$(AWS_CLI_VERSION); $(INSTALL)
	@touch $@

# In a venv of its own, too. It runs the functions with its own Python, which is therefore theirs.
.venv-ministack/$(MINISTACK_VERSION): | .venv/local
	@interpreter=$$($(BIN)/python -m infra.build --find) && $$interpreter -m venv .venv-ministack
	@echo "Installing MiniStack ..."
	@set -- ministack==$(MINISTACK_VERSION) 'aws-sam-translator>=1.100,<2' 'cryptography>=45'; $(INSTALL)
	@touch $@

# What Lambda's runtime has: its client, and boto3. Whatever else a function needs must be in its package.
.venv-rie/$(RUNTIME_CLIENT_VERSION): | .venv/local
	@interpreter=$$($(BIN)/python -m infra.build --find) && $$interpreter -m venv .venv-rie
	@echo "Installing the Lambda runtime's client ..."
	@set -- awslambdaric==$(RUNTIME_CLIENT_VERSION) 'boto3>=1.40,<2'; $(INSTALL)
	@touch $@

# In a venv of its own: it would put itself into every run of the tests.
.venv-fuzz/$(SCHEMATHESIS_VERSION): | .venv/bin/uv
	@echo "Installing schemathesis ..."
	@$(PYTHON) -m venv .venv-fuzz
	@set -- schemathesis==$(SCHEMATHESIS_VERSION); $(INSTALL)
	@touch $@

# In a venv of its own, too: checkov pins boto3.
.venv-scan/$(CHECKOV_VERSION)-$(CFRIPPER_VERSION): | .venv/bin/uv
	@echo "Installing checkov and cfripper ..."
	@$(PYTHON) -m venv .venv-scan
	@set -- checkov==$(CHECKOV_VERSION) cfripper==$(CFRIPPER_VERSION); $(INSTALL)
	@touch $@
