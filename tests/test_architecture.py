# SPDX-License-Identifier: Apache-2.0
"""The plan of the house, held by a test: who may import whom, what stays light, how big things get.

`docs/ARCHITECTURE.md` says why. Imports are read from the source, those inside functions too.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]

MAY_IMPORT: dict[str, set[str]] = {
    "envs": set(),
    "reward_server": {"envs"},
    "agent": {"envs"},
    "learner": {"agent", "envs"},
    "actors": {"agent", "envs", "learner", "reward_server"},
    "conf": {"agent", "envs", "learner", "reward_server", "actors"},  # their config modules only
}
FOLDERS = tuple(MAY_IMPORT)
ENTRY_POINTS = ("train.py", "evaluate.py")

# Where torch may be imported: everything else must run on a machine without it.
TORCH_FOLDERS = ("learner", "actors")
TORCH_IN_AGENT = {
    "agent.policy",
    "agent.policy_agent",
    "agent.forager.family",
    "agent.forager.matching",
    "agent.forager.plan",
    "agent.forager.net",
    "agent.forager.streams",
    "agent.forager.vision",
}
TORCH_FREE = ("learner.types", "learner.replay", "agent.types", "agent.episode")

# All that a reward node has: the packages that `reward_server` may load, itself or through envs.
REWARD_NODE_PACKAGES = {"numpy", "cv2"}

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80
DRAWERS = {"utils", "util", "misc", "common", "helpers", "helper"}
# Folders that only exist on the machine of whoever wrote the line.
MACHINE_PATH = re.compile(r"(?<![\w.-])/(?:work|opt/venv|root|tmp/[a-z]+_jobs)(?=/|\b)")


@dataclass(frozen=True, kw_only=True)
class Import:
    """One imported module and where; `is_lazy` inside a function or under TYPE_CHECKING."""

    target: str
    line: int
    is_lazy: bool


def source_files() -> list[Path]:
    """Every Python file of ours outside tests, entry points included."""
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    return files + [ROOT / name for name in ENTRY_POINTS if (ROOT / name).exists()]


def files_of_tests() -> list[Path]:
    """Every Python file under tests."""
    return sorted((ROOT / "tests").rglob("*.py"))


def module_name(path: Path) -> str:
    """Dotted name of a file of ours."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def module_exists(name: str) -> bool:
    """Whether a dotted name is a module or package of ours."""
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def imports_of(path: Path) -> Iterator[Import]:
    """The modules that a file imports, `from a import b` as `a.b` when that is a module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node, is_lazy in _walk(tree, is_lazy=False):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(target=alias.name, line=node.lineno, is_lazy=is_lazy)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: expected an absolute import"
            module = node.module or ""
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                is_module = module_exists(inner) or inner == "ray.rllib"
                target = inner if is_module else module
                yield Import(target=target, line=node.lineno, is_lazy=is_lazy)


def _walk(node: ast.AST, *, is_lazy: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        yield child, is_lazy
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
        is_typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        yield from _walk(child, is_lazy=is_lazy or is_function or is_typing)


def all_imports() -> Iterator[tuple[str, Import]]:
    """Each (module of ours, import) outside tests."""
    for path in source_files():
        for found in imports_of(path):
            yield module_name(path), found


def is_within(module: str, package: str) -> bool:
    """Whether `module` is `package` or inside it."""
    return module == package or module.startswith(package + ".")


def test_every_folder_imports_only_what_the_table_allows():
    wrong = []
    for module, found in all_imports():
        folder, target = module.split(".")[0], found.target.split(".")[0]
        if folder not in FOLDERS or target not in FOLDERS or target == folder:
            continue
        is_cli_of_conf = module == "actors.cli" and target == "conf"
        if target not in MAY_IMPORT[folder] and not is_cli_of_conf:
            wrong.append(f"{module}:{found.line} imports {found.target}")
    assert not wrong


def test_conf_imports_only_config_modules():
    wrong = [
        f"{module}:{found.line} imports {found.target}"
        for module, found in all_imports()
        if is_within(module, "conf")
        and found.target.split(".")[0] in MAY_IMPORT["conf"]
        and not found.target.endswith("config")
    ]
    assert not wrong


def test_entry_points_only_call_into_actors():
    wrong = [
        f"{module}:{found.line} imports {found.target}"
        for module, found in all_imports()
        if f"{module}.py" in ENTRY_POINTS
        and found.target.split(".")[0] in FOLDERS
        and not is_within(found.target, "actors")
    ]
    assert not wrong


def test_only_actors_imports_ray():
    wrong = [
        f"{module}:{found.line}"
        for module, found in all_imports()
        if is_within(found.target, "ray") and not is_within(module, "actors")
    ]
    assert not wrong


def test_the_controller_knows_nothing_of_ray():
    found = [f for module, f in all_imports() if module == "actors.controller"]
    assert not [f"line {f.line}" for f in found if is_within(f.target, "ray")]


def test_rllib_is_imported_only_inside_functions():
    # It costs seconds and hundreds of MB in every process that imports the module.
    wrong = [
        f"{module}:{found.line}"
        for module, found in all_imports()
        if is_within(found.target, "ray.rllib") and not found.is_lazy
    ]
    assert not wrong


def test_torch_is_imported_only_where_networks_are():
    wrong = [
        f"{module}:{found.line}"
        for module, found in all_imports()
        if found.target.split(".")[0] in {"torch", "torchvision"}
        and (module in TORCH_FREE or module.split(".")[0] not in TORCH_FOLDERS)
        and module not in TORCH_IN_AGENT
    ]
    assert not wrong


def test_config_modules_import_neither_torch_nor_ray():
    wrong = [
        f"{module}:{found.line} imports {found.target}"
        for module, found in all_imports()
        if module.split(".")[-1] == "config" and found.target.split(".")[0] in {"torch", "ray"}
    ]
    assert not wrong


def test_no_module_is_a_drawer():
    parts = {part for path in source_files() for part in module_name(path).split(".")}
    assert not parts & DRAWERS


def test_files_and_functions_stay_small():
    wrong = []
    for path in source_files() + files_of_tests():
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(ROOT)
        if len(text.splitlines()) > MAX_FILE_LINES:
            wrong.append(f"{where}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                length = (node.end_lineno or node.lineno) - node.lineno + 1
                if length > MAX_FUNCTION_LINES:
                    wrong.append(f"{where}:{node.lineno} {node.name}: {length} lines")
    assert not wrong


def test_packages_hold_a_docstring_and_nothing_else():
    wrong = []
    for path in source_files():
        if path.name != "__init__.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if len(tree.body) != 1 or ast.get_docstring(tree) is None:
            wrong.append(str(path.relative_to(ROOT)))
    assert not wrong


def test_every_folder_with_modules_is_a_package():
    folders = {path.parent for path in source_files()} - {ROOT}
    assert not [str(f.relative_to(ROOT)) for f in folders if not (f / "__init__.py").exists()]


def test_every_file_opens_with_its_licence_and_role():
    wrong = []
    for path in source_files() + files_of_tests():
        text = path.read_text(encoding="utf-8")
        has_licence = text.startswith("# SPDX-License-Identifier: Apache-2.0\n")
        if not has_licence or ast.get_docstring(ast.parse(text)) is None:
            wrong.append(str(path.relative_to(ROOT)))
    assert not wrong


def test_no_file_names_a_folder_of_one_machine():
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    wrong = []
    for name in filter(None, listed.stdout.split("\0")):
        path = ROOT / name
        if path == Path(__file__) or not path.is_file():
            continue
        text = path.read_bytes().decode("utf-8", errors="ignore")
        wrong += [
            f"{name}:{number}: {line.strip()[:80]}"
            for number, line in enumerate(text.splitlines(), start=1)
            if MACHINE_PATH.search(line)
        ]
    assert not wrong


# --- What must import on a machine that lacks something -------------------------------------------

_IMPORT_WITHOUT = """
import importlib, sys

blocked, modules = sys.argv[1].split(","), sys.argv[2].split(",")
at_start = set(sys.modules)

class Blocker:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in blocked:
            raise ModuleNotFoundError(f"{name} is blocked", name=name)

sys.meta_path.insert(0, Blocker())
for module in modules:
    importlib.import_module(module)
loaded = {n for n in sys.modules if "." not in n} - at_start
print(",".join(sorted(n for n in loaded if "site-packages" in str(sys.modules[n].__spec__))))
"""


def import_without(blocked: tuple[str, ...], modules: list[str]) -> set[str]:
    """Import `modules` in a fresh process; the third-party packages that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", _IMPORT_WITHOUT, ",".join(blocked), ",".join(modules)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return set(filter(None, done.stdout.strip().split(",")))


def modules_of(folder: str) -> list[str]:
    """Every module of one folder, but for programs (`__main__`)."""
    return [module_name(p) for p in sorted((ROOT / folder).rglob("*.py")) if p.stem != "__main__"]


def test_the_import_blocker_blocks():
    with pytest.raises(AssertionError, match="numpy is blocked"):
        import_without(("numpy",), ["envs.types"])


def test_envs_imports_without_torch_and_ray():
    import_without(("torch", "ray"), modules_of("envs"))


def test_reward_server_imports_on_a_node_with_numpy_and_opencv_only():
    loaded = import_without(("torch", "ray"), modules_of("reward_server"))
    assert loaded <= REWARD_NODE_PACKAGES


@pytest.mark.parametrize("module", TORCH_FREE)
def test_imports_without_torch(module: str):
    if not module_exists(module):
        pytest.skip(f"{module} is not written yet")
    import_without(("torch", "ray"), [module])
