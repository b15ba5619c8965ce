"""The mutation check: what it changes, that every process runs it, and that recorded changes are noticed again."""

from __future__ import annotations

import datetime as dt
import json
import textwrap
from collections.abc import Iterator

import pytest
from mutation import clauses, proving, removals, report, results
from mutation.contracts import mutate_contract
from mutation.mutants import Mutant
from mutation.mutators import mutate_python
from mutation.packages import PACKAGES, ROOT, Package
from mutation.removals import Removal
from mutation.running import Runner
from mutation.sample import all_mutants, drawn, mutants_of

SOUND_TEST, BROKEN_TEST = "test_a_known_call_has_its_known_ids", "test_what_cannot_be"


def changes(source: str) -> list[str]:
    """Return the changes of a source by what stands before and after."""
    return [f"{mutant.before} → {mutant.after}" for mutant in mutate_python("a.py", textwrap.dedent(source))]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", ["a < b → a <= b"]),
        ("a <= b", ["a <= b → a < b"]),
        ("x = a >= b > c", ["a >= b > c → a > b > c", "a >= b > c → a >= b >= c"]),
        ("x = a == b", ["a == b → a != b"]),
        ("x = (a) not  in (b)", ["(a) not in (b) → (a) in (b)"]),
        ("x = a is not None", ["a is not None → a is None"]),
        ("x = a and b or c", ["a and b or c → a and b and c", "a and b → a or b"]),
        ("x = not (a)", ["not (a) → (a)"]),
        ("x = 3", ["x = 3 → x = 4"]),
        ("x = f(y=True)", ["y=True → y=False"]),
        ("x = v[:5]", ["x = v[:5] → x = v[:6]"]),
        ("x = a + b - c", ["a + b - c → a + b + c", "a + b → a - b"]),
        ("x = 'é' + b", []),
        ("é = a + b", ["a + b → a - b"]),
        ("x += n", ["x += n → x -= n"]),
        ("x = min(a, b)", ["min(a, b) → max(a, b)"]),
        ("x = a if b else c", ["b → True", "b → False"]),
        ("x = [a for a in b if c]", ["c → True"]),
        ("g(a)", ["g(a) → pass"]),
        ("raise ValueError(a)", ["raise ValueError(a) → pass"]),
        ("raise Fault(f'no {a}', 'b')", [
            "raise Fault(f'no {a}', 'b') → pass", "f'no {a}' → f'XXno {a}'", "'b' → 'XXb'"]),
        ("x: Annotated[int, Meta(ge=1, description='1')] = y", ["ge=1 → ge=2"]),
    ],
)  # fmt: skip
def test_each_rule_is_changed_in_its_own_way(source: str, expected: list[str]) -> None:
    assert changes(source) == expected


def test_the_ways_out_of_a_function_are_changed() -> None:
    source = """
        def f(a) -> int:
            for b in a:
                if b: continue
            return a

        def g(a) -> bool:
            return a

        def h(a) -> None:
            return print(a)
    """

    assert changes(source) == [
        "b → True", "b → False", "continue → break", "return a → return None", "return a → return not (a)",
    ]  # fmt: skip


def test_what_holds_no_rule_is_left_alone() -> None:
    source = '''
        """A docstring of 3 words."""
        if TYPE_CHECKING:
            x = 1
        __all__ = ["a"]
        y: Literal[1]
        class C(Struct, frozen=True):
            """1"""
            def __repr__(self): return str(1)
        logger.warning("1", 1)
        log(1)
    '''

    assert changes(source) == []


def test_a_mutant_changes_its_span_and_nothing_else() -> None:
    source = "x = 1  # é\ny = 'é' if  a <b  else 2 # kept\n"

    mutant = next(one for one in mutate_python("a.py", source) if one.mutator == "comparison")

    assert mutant.apply(source) == "x = 1  # é\ny = 'é' if  a <=b  else 2 # kept\n"
    assert (mutant.line, mutant.end_line) == (2, 2)


def test_a_mutant_keeps_its_name_when_lines_move_and_equal_ones_are_numbered() -> None:
    source = "def f():\n    g(1)\n    g(1)\n"

    before, after = (mutate_python("a.py", text) for text in (source, f"# moved\n{source}"))

    assert [one.key for one in before] == [one.key for one in after]
    assert len({one.key for one in before}) == len(before)
    assert [one.line + 1 for one in before] == [one.line for one in after]


def test_the_keywords_of_a_contract_are_changed_one_at_a_time() -> None:
    contract = {
        "type": "object",
        "properties": {"a": {"type": "string", "minLength": 1, "pattern": "^a"}, "b": {"enum": ["c", "d"]}},
        "required": ["a", "b"],
        "additionalProperties": False,
        "examples": [{"minLength": 5}],
    }

    found = mutate_contract("c.json", json.dumps(contract))

    assert [f"{one.function} {one.after}" for one in found] == [
        "/properties/a/minLength minLength: 2",
        "/properties/a/minLength minLength: 0",
        '/properties/a/pattern pattern: ""',
        '/properties/b/enum enum: ["d"]',
        '/properties/b/enum enum: ["c"]',
        '/required required: ["b"]',
        '/required required: ["a"]',
        "/additionalProperties additionalProperties: true",
    ]
    assert json.loads(found[-1].apply("")) == {**contract, "additionalProperties": True}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_mutants_of_the_source_can_be_parsed(package: Package) -> None:
    for mutant in drawn(all_mutants(package), 10):
        text = mutant.apply((ROOT / mutant.path).read_text(encoding="utf-8"))
        compile(text, mutant.path, "exec") if mutant.path.endswith(".py") else json.loads(text)


def test_the_figures_and_the_packages_name_files_that_exist() -> None:
    scores = results.load().scores
    named = {path for score in scores for path in score.files}
    named |= {key.partition(" · ")[0] for score in scores for key in score.survivors}
    named |= {path for package in PACKAGES for group in package.last for path in group}

    assert sorted(path for path in named if not (ROOT / path).is_file()) == []


def test_a_larger_sample_holds_the_smaller_one() -> None:
    mutants = mutants_of("src/signet/kernel/gate.py")

    assert drawn(mutants, 5) == drawn(mutants[::-1], 9)[:5]


@pytest.fixture(scope="module")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Open a slot of this file's own."""
    runner = Runner(ROOT / "build/mutation/slot-test", str(tmp_path_factory.mktemp("tmp")))
    yield runner
    runner.close()


def test_a_mutant_is_at_work_in_the_processes_that_tests_start(runner: Runner) -> None:
    """The server whose answer the test reads is a child of the test's process."""
    path, test = "src/signet/kernel/protocol.py", "tests/transports/test_stdio.py"
    case = f"{test}::test_progress_is_told_to_nobody_who_did_not_ask[auto]"
    start = (ROOT / path).read_text(encoding="utf-8").index('}],"structuredContent":') + 4
    mutant = Mutant(path, "", "text", "", "", start, start + 1, "S", 1, 1)

    before = runner.ask([case], 60, 300)
    with runner.slot.holding(mutant):
        within = runner.ask([case], 60, 300)
    after = runner.ask([case], 60, 300)

    assert [(found["outcome"], found["ran"]) for found in (before, after)] == [("passed", 1)] * 2
    assert (within["outcome"], within["test"]) == ("failed", case)


def test_a_hang_and_a_module_that_cannot_be_imported_kill(runner: Runner) -> None:
    path, case = "src/signet/kernel/gate.py", "tests/kernel/test_gate.py"
    end = len((ROOT / path).read_text(encoding="utf-8"))
    found = []

    for text in ("while True: pass\n", "import nothing\n"):
        with runner.slot.holding(Mutant(path, "", "", "", "", end, end, text, 1, 1)):
            found.append(runner.ask([case], cpu_s=3, wall_s=300))

    assert [(one["outcome"], one["kind"]) for one in found] == [("failed", "hang"), ("failed", "crash")]


def recorded() -> list[results.Proof]:
    """Return one recorded mutant of each package, another one each day of a week."""
    day = dt.datetime.now(dt.UTC).date().toordinal()
    return [score.proofs[day % len(score.proofs)] for score in results.load().scores if score.proofs]


@pytest.mark.parametrize("proof", recorded(), ids=lambda proof: proof.key.partition(" · ")[0])
def test_a_recorded_mutant_dies_again(proof: results.Proof, runner: Runner) -> None:
    path = proof.key.partition(" · ")[0]
    found = [mutant for mutant in mutants_of(path) if mutant.key == proof.key]
    assert found, "the code was changed: `make mutants` records other mutants"

    with runner.slot.holding(found[0]):
        answer = runner.ask([proof.test], cpu_s=60, wall_s=300)

    assert answer["outcome"] == "failed", answer


def noticed() -> list[tuple[str, Removal, str]]:
    """Return three recorded removals of clauses with the tests that noticed them without a process, others each day."""
    trials = clauses.load()
    found = [
        (clause, one, trial.test)
        for one in removals.read_removals().removal
        for clause in one.clauses[:1]
        if (trial := clauses.trial_of(trials, clause, one)) and trial.test and not clauses.starts_processes(trial.test)
    ]
    day = dt.datetime.now(dt.UTC).date().toordinal()
    return [found[(3 * day + number) % len(found)] for number in range(3)]


@pytest.mark.parametrize(("clause", "removal", "test"), noticed(), ids=[clause for clause, _, _ in noticed()])
def test_a_recorded_removal_is_noticed_again(clause: str, removal: Removal, test: str, runner: Runner) -> None:
    found = proving.try_removal(runner, removal, {clause: [test]})[clause]

    assert found.test == test
    assert proving.passing(runner, [test]) == {test}


@pytest.mark.parametrize("line", ["\n", "import nothing\n"], ids=["no rule", "no module"])
def test_a_change_that_no_test_has_noticed_proves_nothing(line: str, runner: Runner) -> None:
    """A module that cannot be imported makes all tests fail, whatever they ask."""
    removal = Removal(["5.ids.uuid5"], "", "5.ids.uuid4", "UUID4: Final", f"{line}UUID4: Final")

    found = proving.try_removal(runner, removal, {"5.ids.uuid5": ["tests/kernel/test_ids.py"]})

    assert found == {"5.ids.uuid5": clauses.Trial("", removal.digest)}


def test_a_test_that_fails_with_the_rules_has_noticed_nothing(runner: Runner) -> None:
    sound, broken = (f"tests/kernel/test_ids.py::{name}" for name in (SOUND_TEST, BROKEN_TEST))
    text = (ROOT / "tests/kernel/test_ids.py").read_text(encoding="utf-8")

    with runner.slot.replacing({"tests/kernel/test_ids.py": f"{text}\n\ndef {BROKEN_TEST}():\n    assert False\n"}):
        assert proving.passing(runner, [broken, sound]) == {sound}


def test_the_page_tells_what_was_recorded() -> None:
    fresh = report.page(results.load(), results.read_reasons(), clauses.load(), removals.read_removals())

    assert report.PAGE.read_text(encoding="utf-8") == fresh, "make mutants ARGS=--page writes it anew"


def test_every_reason_speaks_of_a_mutant_that_exists() -> None:
    keys = {mutant.key for package in PACKAGES for mutant in all_mutants(package)}

    assert [key for key in results.read_reasons() if key not in keys] == []
