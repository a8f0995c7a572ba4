"""Move the modules to the library, and rewrite every import: the one-time script behind docs/layout.md.

A module with a `main` is cut in two: what computes goes to the library, `main` to a stage module.
"""

import ast
import re
import subprocess
from pathlib import Path

LIB = "sentence_distillery"
# old module (below stages) -> (library module below sentence_distillery or None, stage module or None)
MOVES: dict[str, tuple[str | None, str | None]] = {
    "artifacts": ("io.artifacts", None),
    "ragged": ("io.ragged", None),
    "machine": ("runtime.machine", None),
    "device": ("runtime.device", None),
    "shards": ("runtime.shards", None),
    "progress": ("runtime.progress", None),
    "checkpoint": ("training.checkpoint", None),
    "benchmarks.benchmarks": ("benchmarks.assembly", "benchmarks.benchmarks"),
    "benchmarks.data": ("benchmarks.data", None),
    "benchmarks.external": ("benchmarks.external", None),
    "benchmarks.fetch": ("benchmarks.download", "benchmarks.fetch"),
    "benchmarks.guard": ("benchmarks.decontamination", None),
    "benchmarks.overlaps": ("benchmarks.overlaps", None),
    "benchmarks.readers": ("benchmarks.readers", None),
    "benchmarks.registry": ("benchmarks.registry", None),
    "benchmarks.similarity": ("benchmarks.metrics", None),
    "corpus.boilerplate": ("corpus.boilerplate", None),
    "corpus.clean": ("corpus.cleaning", "corpus.clean"),
    "corpus.crawl": ("crawl.collect", "corpus.crawl"),
    "corpus.dates": ("corpus.dates", None),
    "corpus.decisions": ("corpus.decisions", None),
    "corpus.documents": ("corpus.documents", None),
    "corpus.duplicates": ("corpus.duplicates", None),
    "corpus.identities": ("corpus.identities", None),
    "corpus.language": ("corpus.language", None),
    "corpus.overview": ("corpus.overview", None),
    "corpus.readers": ("corpus.readers", None),
    "corpus.schema": ("corpus.schema", None),
    "corpus.sentences": ("corpus.sentences", None),
    "corpus.text": ("corpus.text", None),
    "corpus.words": ("corpus.words", None),
    **{
        f"corpus.web.{name}": (f"crawl.{name}", None)
        for name in "archive decoding extraction network pages policy politeness progress robots snapshot spider store workers".split()
    },
    "vectors.contrastive": ("word_vectors.contrastive", None),
    "vectors.corpus": ("word_vectors.corpus", None),
    "vectors.fasttext": ("word_vectors.fasttext", "word_vectors.fasttext"),
    "vectors.glove": ("word_vectors.glove", None),
    "vectors.kld": ("word_vectors.kld", None),
    "vectors.model": ("word_vectors.model", None),
    "vectors.refine": ("word_vectors.refinement", "word_vectors.refine"),
    "vectors.skipgram": ("word_vectors.skipgram", "word_vectors.skipgram"),
    "vectors.weighting": ("word_vectors.weighting", None),
    "evaluation.repulsion": ("word_vectors.repulsion", "word_vectors.repulsion"),
    "teacher.embedder": ("encoders.embedder", None),
    "teacher.encoders": ("encoders.transformer", None),
    "teacher.onnx_package": ("encoders.onnx_package", None),
    "teacher.packages": ("encoders.packages", None),
    "teacher.pooling": ("encoders.pooling", None),
    "pairs.packing": ("encoders.packing", None),
    "pairs.encoder": ("encoders.trainable", None),
    "pairs.functions": ("encoders.functions", None),
    "teacher.labels": ("distillation.soft_labels", None),
    "teacher.soft_labels": (None, "distillation.soft_labels"),
    "teacher.gold_labels": (None, "distillation.fine_tuned_labels"),
    "pairs.gold_teacher": ("distillation.fine_tuned_teacher", "distillation.fine_tuned_teacher"),
    "teacher.simcse": ("pairs.simcse", "pairs.simcse"),
    "student.encoder": ("encoder.static_encoder", None),
    "student.tokenizer": ("encoder.tokenizer", None),
    "student.export": ("distillation.export", None),
    "student.encode": ("encoder.encode_file", "distillation.encode"),
    "student.compress": ("distillation.compression", None),
    "student.deep": ("distillation.mlp_head", "distillation.mlp_head"),
    "student.gold": ("distillation.fine_tuning", "distillation.fine_tuned_student"),
    "student.losses": ("distillation.losses", None),
    "student.my_model": (None, "distillation.paper_student"),
    "student.paper": ("distillation.paper_student", None),
    "student.static": ("distillation.static_student", None),
    "student.student": ("distillation.student", "distillation.student"),
    "student.training": ("distillation.training", None),
    "syntax.components": ("syntax.components", None),
    "syntax.drawing": ("syntax.drawing", None),
    "syntax.packed": ("syntax.packed", None),
    "syntax.parse": ("syntax.parsing", "syntax.parse"),
    "syntax.parser": ("syntax.parser", None),
    "syntax.score_parser": ("syntax.scoring", "syntax.score_parser"),
    "syntax.train_parser": ("syntax.training", "syntax.train_parser"),
    "syntax.trees": ("syntax.trees", None),
    "evaluation.tree": (None, "syntax.draw_tree"),
    "pairs.cells": ("pairs.cells", None),
    "pairs.combinations": (None, "pairs.combinations"),
    "pairs.data": ("pairs.data", None),
    "pairs.export": ("pairs.export", None),
    "pairs.heads": ("pairs.heads", None),
    "pairs.intermediate": ("pairs.intermediate", None),
    "pairs.losses": ("pairs.losses", None),
    "pairs.pair_data": ("pairs.preparation", "pairs.pair_data"),
    "pairs.pair_embeddings": (None, "pairs.pair_embeddings"),
    "pairs.pair_tuning": ("pairs.cross_encoder", "pairs.cross_encoder"),
    "pairs.paraphrase": ("pairs.strategies", "pairs.paraphrase"),
    "pairs.predict": ("pairs.prediction", "pairs.predict"),
    "pairs.thresholds": ("pairs.thresholds", None),
    "pairs.training": ("pairs.training", None),
    "pairs.component_cells": ("component_focus.cells", None),
    "pairs.component_focus": ("component_focus.training", "component_focus.component_focus"),
    "pairs.component_weights": ("component_focus.weights", None),
    "pairs.focus_weights": ("component_focus.frozen_weights", "component_focus.component_weights"),
    "pairs.silver_pairs": ("component_focus.augmentation", "component_focus.augmented_pairs"),
    "evaluation.focus": ("papers.paper3.results", "component_focus.component_results"),
    "evaluation.paper_3": ("papers.paper3.section", None),
    "evaluation.pair_results": ("papers.paper2.results", "pairs.pair_results"),
    "evaluation.pair_cost": ("papers.paper2.cost", "pairs.pair_cost"),
    "evaluation.paper_2": ("papers.paper2.section", None),
    "evaluation.claims": ("papers.paper1.claims", None),
    "evaluation.examples": ("papers.paper1.examples", None),
    "evaluation.published": ("papers.paper1.published", None),
    "evaluation.reproduction": ("papers.paper1.reproduction", None),
    "evaluation.evaluate": ("evaluation.scoring", "evaluation.evaluate"),
    "evaluation.corpus_quality": ("evaluation.corpus_quality", "corpus.corpus_quality"),
    "evaluation.loading": ("evaluation.loading", None),
    "evaluation.material": ("evaluation.data", None),
    "evaluation.probes": ("evaluation.probes", "evaluation.probes"),
    "evaluation.results": ("evaluation.results", None),
    "evaluation.scores": ("evaluation.similarity", None),
    "evaluation.seeds": ("evaluation.seeds", "evaluation.seeds"),
    "evaluation.sentiment": ("evaluation.classification", None),
    "evaluation.spread": ("evaluation.seed_spread", None),
    "evaluation.systems": ("evaluation.systems", None),
    "evaluation.weighted": ("evaluation.weighted", None),
    "evaluation.pareto": ("release.pareto", "release.pareto"),
    "evaluation.release": ("release.release", "release.release"),
    "evaluation.charts": ("reporting.charts", None),
    "evaluation.headline": ("reporting.headline", None),
    "evaluation.sizes": ("reporting.sizes", None),
    "evaluation.tables": ("reporting.tables", None),
    "evaluation.report": ("reporting.page", "reporting.report"),
    "evaluation.publish": ("reporting.publish", "reporting.publish"),
    "stage": (None, "stage"),
    "process": (None, "process"),
    "params": (None, "params"),
    "corpus.bench": (None, "/benchmarks.cleaning"),
    "evaluation.bench": (None, "/benchmarks.encoding"),
    "evaluation.label_bench": (None, "/benchmarks.soft_labels"),
    "evaluation.pair_bench": (None, "/benchmarks.siamese_step"),
    "pairs.focus_speed": (None, "/benchmarks.component_training"),
}
OPTIONS = {
    "io.options": "Section Fraction Positive Count Seed Precision Language",
    "corpus.options": "Columns Clean",
    "crawl.options": "CrawlInput Crawl Site Web Day Host Url",
    "benchmarks.options": "Benchmarks",
    "word_vectors.options": "Skipgram Fasttext Refine Contrastive Repulsion",
    "encoders.options": "Teacher",
    "distillation.options": "SoftLabels Student MyModel Deep Gold GoldTeacher",
    "pairs.options": "Simcse ScoredTraining Pairs Learning MetricLearning ModernLearning Intermediate Combinations PairCost ThresholdRule",
    "component_focus.options": "ComponentFocus FocusTraining Silver",
    "syntax.options": "Syntax",
    "runtime.options": "Shards",
    "evaluation.options": "Reference Evaluate",
}
OPTION_HOME = {name: module for module, names in OPTIONS.items() for name in names.split()}
FINGERPRINTS = {"fingerprint", "fingerprints", "NEITHER_LETTER_NOR_DIGIT"}
TEST_ROOMS = {  # test file -> new place
    "tests/student/test_encoder.py": "tests/encoder/test_static_encoder.py",
    "tests/student/test_tokenizer.py": "tests/encoder/test_tokenizer.py",
}


def dotted(stage: str) -> str:
    return stage[1:] if stage.startswith("/") else f"stages.{stage}"


def path_of(name: str) -> Path:
    return Path(*name.split(".")).with_suffix(".py")


def home(module: str, name: str) -> str:
    """The new module that has `name` of the old module."""
    if module == "params" and name in OPTION_HOME:
        return f"{LIB}.{OPTION_HOME[name]}"
    if module == "stage" and name == "Counters":
        return f"{LIB}.io.counters"
    if module == "benchmarks.overlaps" and name in FINGERPRINTS:
        return f"{LIB}.corpus.fingerprints"
    if module == "corpus.text" and name == "whole_surrogates":
        return f"{LIB}.io.unicode"
    library, stage = MOVES[module]
    if library is None or (name == "main" and stage is not None):
        assert stage is not None
        return dotted(stage)
    return f"{LIB}.{library}"


def source_module(path: Path) -> str:
    return ".".join(path.relative_to("stages").with_suffix("").parts)


def statement(node: ast.ImportFrom, text: str) -> list[str]:
    """The import statements that take the place of one."""
    assert node.module
    module = node.module.removeprefix("stages").removeprefix(".")
    lines = []
    for alias in node.names:
        name = alias.name
        inner = f"{module}.{name}" if module else name
        if inner in MOVES:  # a module
            lines += module_import(inner, alias.asname or name, text)
        elif module in MOVES:
            suffix = f" as {alias.asname}" if alias.asname else ""
            lines.append(f"from {home(module, name)} import {name}{suffix}")
        else:
            raise SystemExit(f"unknown: from {node.module} import {name}")
    return lines


def module_import(inner: str, used: str, text: str) -> list[str]:
    library, stage = MOVES[inner]
    targets = []
    if library is not None and (stage is None or re.search(rf"(?<![\w.]){used}(?!\.main\b)[.,)]", text)):
        targets.append((f"{LIB}.{library}", used))
    if stage is not None and (library is None or re.search(rf"(?<![\w.]){used}\.main\b", text)):
        targets.append((dotted(stage), f"{used}_stage" if library is not None and targets else used))
    found = []
    for target, name in targets:
        package, _, last = target.rpartition(".")
        found.append(f"from {package} import {last}" + (f" as {name}" if last != name else ""))
    return found


def rewrite(text: str) -> str:
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    edits = []
    both = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "stages":
            indent = " " * node.col_offset
            new = statement(node, text)
            edits.append((node.lineno - 1, node.end_lineno, "".join(f"{indent}{line}\n" for line in new)))
            both += [line.rpartition(" as ")[2] for line in new if line.endswith("_stage")]
    for start, end, new_text in sorted(edits, reverse=True):
        lines[start:end] = [new_text]
    text = "".join(lines)
    for name in both:
        used = name.removesuffix("_stage")
        text = re.sub(rf"(?<![\w.]){used}\.main\b", f"{name}.main", text)
    return text


def names_in(nodes: list[ast.stmt]) -> set[str]:
    return {node.id for each in nodes for node in ast.walk(each) if isinstance(node, ast.Name)}


def cut(text: str, module: str) -> tuple[str, str]:
    """The library part of a module and its stage part."""
    library, stage = MOVES[module]
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    main = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    guard = next(node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test))
    first = min([main.lineno, *(one.lineno for one in main.decorator_list)]) - 1
    used = names_in([main])
    imports: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                suffix = f" as {alias.asname}" if alias.asname else ""
                imports[name] = (
                    f"import {alias.name}{suffix}"
                    if isinstance(node, ast.Import)
                    else f"from {node.module} import {alias.name}{suffix}"
                )
    defined: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name != "main":
            defined.add(node.name)
        elif isinstance(node, ast.Assign):
            defined |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            defined.add(node.target.id)
    head = [imports[name] for name in sorted(used & imports.keys())]
    own = sorted(used & defined)
    docstring = ast.get_docstring(tree) or ""
    title = docstring.splitlines()[0] if docstring else ""
    stage_text = f'"""{title}"""\n\n' + "\n".join(head) + "\n"
    for name in own:
        if name == "log":
            stage_text += 'log = logging.getLogger("stages")\n'
        else:
            stage_text += f"from stages.{module} import {name}\n"
    if "log" in own:
        body = [line for line in stage_text.splitlines() if not line.startswith("log =")]
        if "import logging" not in body:
            body.insert(2, "import logging")
        stage_text = "\n".join(body) + '\n\nlog = logging.getLogger("stages")\n'
    stage_text += "\n\n" + "".join(lines[first : main.end_lineno]) + '\n\nif __name__ == "__main__":\n    main()\n'
    library_text = "".join(lines[:first]).rstrip() + "\n"
    rest = "".join(lines[main.end_lineno : guard.lineno - 1]).strip()
    if rest:
        library_text += f"\n\n{rest}\n"
    return library_text, stage_text


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    for parent in path.parents:
        if (
            parent != Path()
            and parent.parts[0] in ("stages", LIB, "benchmarks", "tests")
            and not (parent / "__init__.py").exists()
        ):
            (parent / "__init__.py").touch()
    path.write_text(text, encoding="utf-8")


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True)


def move(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source != target:
        git("mv", str(source), str(target))


def main() -> None:
    sources = sorted(path for path in Path("stages").rglob("*.py") if path.name != "__init__.py")
    texts = {path: path.read_text(encoding="utf-8") for path in sources}
    missing = {source_module(path) for path in sources} ^ MOVES.keys()
    assert not missing, missing
    parked = {path: Path(f".park/{source_module(path)}.py") for path in sources}
    Path(".park").mkdir()
    for path, park in parked.items():
        git("mv", str(path), str(park))
    for path, park in parked.items():
        module = source_module(path)
        library, stage = MOVES[module]
        if library is not None and stage is not None:
            library_text, stage_text = cut(texts[path], module)
            move(park, path_of(f"{LIB}.{library}"))
            write(path_of(f"{LIB}.{library}"), rewrite(library_text))
            write(path_of(dotted(stage)), rewrite(stage_text))
        else:
            name = f"{LIB}.{library}" if library is not None else dotted(str(stage))
            move(park, path_of(name))
            write(path_of(name), rewrite(texts[path]))
    for path in [*Path("tests").rglob("*.py"), *Path("flows").rglob("*.py"), *Path(LIB).glob("*.py")]:
        text = path.read_text(encoding="utf-8")
        new = rewrite(text)
        if new != text:
            path.write_text(new, encoding="utf-8")


if __name__ == "__main__":
    main()
