# What is typed here all day; `make` alone explains it. Seconds are of two cores, loops compiled.

PYTEST := nice python -m pytest -q -n 2
QUICK := not slow and not gpu
ROOMS := tests/unit/strategy tests/unit/engine $(addprefix tests/unit/optimizer/,evidence store search goals run config)
STAGE = tests/unit/engine/$(firstword $(subst /, ,$(KERNEL)))
need = $(if $($1),,$(error say which: make $@ $1=..., as make help shows))

.DEFAULT_GOAL := help
.PHONY: help fast test room kernel docs bench

help:  ## this text
	@awk -F':  ## ' '/^[a-z]+:  ## / {printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

fast:  ## after an edit: lint, quick tests of engine, strategies, search, evidence, store
	ruff check . && ruff format --check . && $(PYTEST) -m "$(QUICK)" $(ROOMS)

test:  ## before every commit: lint, types, import rules, all tests
	ruff check . && ruff format --check . && mypy && lint-imports && python -m pytest -n 3

room:  ## ROOM=optimizer/store: a folder's lint, examples, and tests, which lie at tests/unit/ROOM
	$(call need,ROOM)ruff check $(ROOM) && $(PYTEST) $(ROOM) $(wildcard tests/unit/$(ROOM))

kernel:  ## KERNEL=positions: a stage's tests, corpus and parity; KERNEL=positions/cuda also interprets and compiles kernels
	$(call need,KERNEL)$(PYTEST) -m "$(if $(findstring cuda,$(KERNEL)),not gpu,$(QUICK))" $(wildcard $(STAGE)) $(if $(findstring cuda,$(KERNEL)),tests/unit/engine/cuda) tests/golden/test_results.py tests/parity

docs:  ## the pages, into site/, by pip install '.[docs]'
	python -m sphinx -q -W -b html docs site

bench:  ## verify the engine, then time a call
	python -m tests.bench.calls
