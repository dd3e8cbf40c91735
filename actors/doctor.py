# SPDX-License-Identifier: Apache-2.0
"""Looks at this machine and says what would keep a run from working, with the fix of each.

Each check is a function that looks and returns `Finding`s; it changes nothing but ports that it
opens for a moment. A problem would stop a run; a warning would slow it down or spoil a part of it.
"""

from __future__ import annotations

import enum
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_MB, _GB = 1e6, 1e9
_COMMAND_TIMEOUT_S = 30.0
MIN_DISK_GB = 2.0  # a run's folder, Ray's session folder and browser profiles
MIN_MEMORY_GB = 4.0  # two browsers, Ray and the learner, as measured in the README
WARN_MEMORY_GB = 6.0
MIN_SHM_MB = 400.0  # the object store of a local run (cluster.object_store_mb) lies there
OUR_PACKAGES = ("actors", "agent", "conf", "envs", "learner", "reward_server")
EXIT_OK, EXIT_PROBLEM = 0, 1


class Level(enum.Enum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """What one check saw."""

    check: str
    level: Level
    text: str  # what was found
    fix: str = ""  # what to do; only "" when all is well


def exit_code(findings: Sequence[Finding]) -> int:
    """1 with a problem among `findings`; warnings do not count."""
    is_bad = any(finding.level is Level.PROBLEM for finding in findings)
    return EXIT_PROBLEM if is_bad else EXIT_OK


def report(findings: Sequence[Finding]) -> str:
    """One line for each finding, and its fix below."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.level.value:<8} {finding.check:<12} {finding.text}")
        if finding.fix:
            lines.append(f"{'':<21} fix: {finding.fix}")
    counts = [sum(f.level is level for f in findings) for level in Level]
    lines.append(f"{counts[0]} ok, {counts[1]} warnings, {counts[2]} problems")
    return "\n".join(lines)


def _ok(check: str, text: str) -> Finding:
    return Finding(check=check, level=Level.OK, text=text)


def _warning(check: str, text: str, fix: str) -> Finding:
    return Finding(check=check, level=Level.WARNING, text=text, fix=fix)


def _problem(check: str, text: str, fix: str) -> Finding:
    return Finding(check=check, level=Level.PROBLEM, text=text, fix=fix)


# --- Checks ------------------------------------------------------------------------------------


def check_python(version: tuple[int, int] = sys.version_info[:2]) -> Iterator[Finding]:
    """Python 3.11 or newer."""
    text = f"{version[0]}.{version[1]}"
    if version >= (3, 11):
        yield _ok("python", text)
    else:
        yield _problem("python", f"{text}, expected >= 3.11", "install a newer Python")


def check_packages_are_ours(
    root: Path, path: Sequence[str] | None = None, names: Sequence[str] = OUR_PACKAGES
) -> Iterator[Finding]:
    """Our packages have generic names: nothing else on Python's path may have them."""
    wrong = []
    for name in names:
        if path is None:  # as Python would: an editable install has a finder of its own
            spec = importlib.util.find_spec(name)
        else:
            spec = importlib.machinery.PathFinder.find_spec(name, path)
        found = list(spec.submodule_search_locations or [str(spec.origin)]) if spec else []
        if [Path(str(place)).resolve() for place in found] != [(root / name).resolve()]:
            place = found[0] if found else "nothing"
            wrong.append(f"package {name!r}: expected {root / name}, got {place}")
    if wrong:
        fix = f"uninstall or rename what comes first on Python's path, or run from {root}"
        yield _problem("packages", "; ".join(wrong), fix)
    else:
        yield _ok("packages", f"ours, in {root}")


def check_libraries(names: Sequence[str] = ("ray", "torch", "playwright")) -> Iterator[Finding]:
    """What the runs import is installed."""
    for name in names:
        try:
            yield _ok("libraries", f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            yield _problem("libraries", f"{name} is not installed", "make setup")


def check_browser(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """A Chromium is found and starts."""
    from envs.browser.discovery import BrowserNotFoundError, find_browser, headless_shells

    bundled = _playwright_browser()
    shells = headless_shells(bundled, environment=environment)
    try:
        path = find_browser(environment=environment, playwright_executable=bundled, shells=shells)
    except BrowserNotFoundError as error:
        yield _problem("browser", str(error), "make setup, or see above")
        return
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=_COMMAND_TIMEOUT_S
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield _problem("browser", f"{path} does not start: {error}", _BROWSER_FIX)
        return
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        yield _problem("browser", f"{path} does not start: {reason}", _BROWSER_FIX)
    else:
        yield _ok("browser", f"{done.stdout.strip()} in {path}")


_BROWSER_FIX = (
    "install the libraries it needs (`playwright install-deps chromium`), or name another browser "
    "with FORAGERL_BROWSER"
)


def _playwright_browser() -> str | None:
    """Where Playwright keeps its own build, if it is installed."""
    if importlib.util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def check_fonts(fc_list: str = "fc-list") -> Iterator[Finding]:
    """Fonts for Latin and for Chinese, Japanese and Korean: without, pages render as boxes."""
    command = shutil.which(fc_list)
    if command is None:
        fix = "apt-get install fontconfig fonts-dejavu-core fonts-noto-cjk"
        yield _warning("fonts", f"{fc_list} is missing: fonts are unknown", fix)
        return
    for what, language, package in (
        ("Latin", "en", "fonts-dejavu-core"),
        ("CJK", "zh", "fonts-noto-cjk"),
    ):
        done = subprocess.run(
            [command, f":lang={language}", "family"],
            capture_output=True,
            text=True,
            timeout=_COMMAND_TIMEOUT_S,
        )
        families = sorted(set(done.stdout.strip().splitlines()))
        if families:
            yield _ok("fonts", f"{what}: {len(families)} families, such as {families[0]}")
        else:
            yield _warning("fonts", f"no {what} font", f"apt-get install {package}")


def check_shared_memory(path: Path = Path("/dev/shm")) -> Iterator[Finding]:
    """Ray's object store lies in shared memory; without room it falls back to the disk."""
    if not path.is_dir():
        yield _warning("/dev/shm", f"{path} is missing", "run the container with --shm-size=1g")
        return
    free_mb = shutil.disk_usage(path).free / _MB
    if free_mb < MIN_SHM_MB:
        fix = "run the container with --shm-size=1g, or set cluster.object_store_mb lower"
        yield _warning("/dev/shm", f"{free_mb:.0f} MB free, expected {MIN_SHM_MB:.0f}", fix)
    else:
        yield _ok("/dev/shm", f"{free_mb:.0f} MB free")


def check_disk(places: Sequence[Path], least_gb: float = MIN_DISK_GB) -> Iterator[Finding]:
    """Room where runs and Ray's session lie."""
    for place in places:
        there = next(p for p in (place, *place.parents) if p.exists())
        free_gb = shutil.disk_usage(there).free / _GB
        text = f"{free_gb:.1f} GB free at {place}"
        if not os.access(there, os.W_OK):
            yield _problem("disk", f"{place} is not writable", "set logger.runs_dir or TMPDIR")
        elif free_gb < least_gb:
            fix = "free some, or set logger.runs_dir or RAY_TMPDIR to another disk"
            yield _problem("disk", f"{text}, expected {least_gb:g}", fix)
        else:
            yield _ok("disk", text)


def check_memory(found_gb: float | None = None) -> Iterator[Finding]:
    """Memory for two browsers, Ray and the learner; a container's limit counts."""
    found_gb = available_gb() if found_gb is None else found_gb
    text = f"{found_gb:.1f} GB available"
    fix = "close other programs, or run with launch=inprocess rollout.num_workers=1"
    if found_gb < MIN_MEMORY_GB:
        yield _problem("memory", f"{text}, expected {MIN_MEMORY_GB:g}", fix)
    elif found_gb < WARN_MEMORY_GB:
        yield _warning("memory", f"{text}, {WARN_MEMORY_GB:g} are better", fix)
    else:
        yield _ok("memory", text)


def available_gb(group: Path = Path("/sys/fs/cgroup")) -> float:
    """Memory that can be had, in 10^9 bytes; `group` has the container's limit, if it is in one."""
    available_gb = psutil.virtual_memory().available / _GB
    try:
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no container, or one without a limit
        return available_gb
    # Files that were read lately count as used, and are let go when memory is wanted.
    return min(available_gb, (limit - used + int(stat["inactive_file"])) / _GB)


def check_ports(host: str = "127.0.0.1") -> Iterator[Finding]:
    """The loopback works, and there are ports to be had: sites and Ray listen there."""
    try:
        with socket.create_server((host, 0)) as server:
            socket.create_connection(server.getsockname()[:2], timeout=2.0).close()
    except OSError as error:
        yield _problem("ports", f"{host} cannot be served: {error}", "allow the loopback device")
    else:
        yield _ok("ports", f"{host} can be served")
    if os.environ.get("http_proxy") and host not in os.environ.get("no_proxy", ""):
        fix = "export no_proxy=127.0.0.1,localhost"
        yield _warning("ports", "http_proxy is set and does not leave the loopback out", fix)


def check_ray(
    environment: Mapping[str, str] = os.environ, token: Path | None = None
) -> Iterator[Finding]:
    """How Ray would be reached, and whether it would want a token."""
    address = environment.get("RAY_ADDRESS", "")
    if not address:
        yield _ok("ray", "a run starts a cluster of its own, closed to others")
        return
    mode = environment.get("RAY_AUTH_MODE", "")
    token = token or Path(environment.get("RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token")).expanduser()
    has_token = bool(environment.get("RAY_AUTH_TOKEN")) or token.is_file()
    text = f"RAY_ADDRESS={address}, authentication {mode or 'not set'}"
    if mode == "token" and not has_token:
        fix = "export RAY_AUTH_TOKEN, or RAY_AUTH_MODE=disabled if the cluster wants none"
        yield _problem("ray", f"{text}, but there is no token in {token}", fix)
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal() and not _is_open(host, int(port)):
        fix = "start the cluster, or unset RAY_ADDRESS to run on this machine"
        yield _problem("ray", f"{text}, but nothing listens there", fix)
    elif not mode:
        # A head turns it on by itself where an earlier run left a token, a driver does not.
        fix = "export RAY_AUTH_MODE=token (or disabled) on every node"
        yield _warning("ray", f"{text}: nodes may differ", fix)
    else:
        yield _ok("ray", text)


def _is_open(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2.0).close()
    except OSError:
        return False
    return True


def check_torch() -> Iterator[Finding]:
    """torch imports and computes."""
    try:
        import torch

        total = float(torch.ones(2, 2).sum())
    except Exception as error:
        yield _problem("torch", f"does not work: {error!r}", "make setup")
        return
    assert total == 4.0
    cores = os.cpu_count() or 1
    yield _ok("torch", f"{torch.__version__}, {cores} cores, CUDA {torch.cuda.is_available()}")


# --- All together ------------------------------------------------------------------------------


def all_checks(root: Path, runs_dir: Path) -> list[Callable[[], Iterator[Finding]]]:
    """Every check of this machine; `root` is the folder with our packages."""
    session = Path(os.environ.get("RAY_TMPDIR", os.environ.get("TMPDIR", "/tmp")))
    return [
        check_python,
        lambda: check_packages_are_ours(root),
        check_libraries,
        check_torch,
        check_browser,
        check_fonts,
        check_shared_memory,
        lambda: check_disk([runs_dir.resolve(), session]),
        check_memory,
        check_ports,
        check_ray,
    ]


def examine(root: Path, runs_dir: Path) -> list[Finding]:
    """All findings; a check that breaks is a finding itself."""
    findings: list[Finding] = []
    for check in all_checks(root, runs_dir):
        try:
            findings.extend(check())
        except Exception as error:
            name = getattr(check, "__name__", "check")
            findings.append(_problem(name, f"broke: {error!r}", "please report this"))
    return findings
