"""Names the machine and the versions that a result came from."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def machine(packages: Iterable[str]) -> str:
    """One line: processor, cores, Python, and the versions of those of the packages that are installed."""
    model = platform.processor() or platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    found = []
    for package in packages:
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return f"{model}, {os.cpu_count()} cores · Python {platform.python_version()} · {' · '.join(found)}"
