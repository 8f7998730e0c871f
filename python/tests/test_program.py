"""The program that the package installs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

import bundlenet

PROGRAM = Path(sysconfig.get_path("scripts")) / "bundlenet"


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    path = tmp_path / "instance.json"
    bundlenet.GeneralizedAssignment.generate("ga-10-100", 1).write(path)
    return path


def test_it_solves_as_the_package_does(instance: Path) -> None:
    done = run("solve", instance, "--json", "--quiet", "--method", "bundle", "--cuts", "component")
    assert done.returncode == 0 and done.stderr == ""
    report = json.loads(done.stdout)
    result = bundlenet.Problem.read(instance).solve(method="bundle", options={"cuts": "component"})
    assert (report["value"], report["steps"], report["status"]) == (result.fun, result.nit, result.status)


def test_a_wrong_option_has_the_same_message_as_in_the_package(instance: Path) -> None:
    done = run("solve", instance, "--cuts", "aggregated")
    with pytest.raises(ValueError, match="^setting cuts: expected method bundle, found method auto$") as caught:
        bundlenet.Problem.read(instance).solve(options={"cuts": "aggregated"})
    assert done.returncode == 2 and str(caught.value) in done.stderr


def test_exit_codes_and_messages_are_its_own(tmp_path: Path) -> None:
    version = run("--version")
    assert version.returncode == 0 and version.stdout.startswith(f"bundlenet {bundlenet.__version__} (")
    usage = run("solve")
    assert usage.returncode == 2 and "Usage: bundlenet solve" in usage.stderr
    missing = run("solve", "missing.dat")
    assert missing.returncode == 2 and missing.stderr.startswith("bundlenet: cannot read missing.dat")
    command = [sys.executable, "-m", "bundlenet", "solve"]
    # Elsewhere, so that the sources do not pass for the package.
    module = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert (module.returncode, module.stderr) == (2, usage.stderr)


def test_ctrl_c_gives_the_best_point(tmp_path: Path) -> None:
    instance = tmp_path / "network.json"
    bundlenet.NetworkDesign.generate("mc-sml-40", 1).write(instance)
    endless = ["--method", "adam", "--tolerance", "0", "--steps", "1000000000"]
    command: list[str | Path] = [PROGRAM, "solve", instance, "--json", "--quiet", *endless]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        output, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert json.loads(output)["status"] == "interrupted"


def test_ctrl_c_ends_what_has_no_best_point(tmp_path: Path) -> None:
    endless = ["--count", "1000000", "--seed", "1", "--out", str(tmp_path / "out")]
    command: list[str | Path] = [PROGRAM, "generate", "mc-big-40", *endless]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert running.returncode == -signal.SIGINT


def test_a_reader_that_has_seen_enough_is_no_failure(instance: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with subprocess.Popen([PROGRAM, "inspect", instance, "--json"], stdout=writer, stderr=subprocess.PIPE) as running:
        os.close(writer)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors) == (0, b"")
