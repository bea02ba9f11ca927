"""Looks for known vulnerabilities in a lock, and says so when nobody could be asked."""

import json
import os
import subprocess
import sys

SILENT = "AUDIT COULD NOT RUN: no vulnerability service answered, so nothing is known about {count} packages."


def main(lock: str) -> int:
    """Exit status 1 for a vulnerability or a package left out; for silence too where AUDIT=required."""
    command = [sys.executable, "-m", "pip_audit", "--requirement", lock, "--require-hashes", "--disable-pip"]
    done = subprocess.run(
        [*command, "--format", "json", "--progress-spinner", "off"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(SILENT.format(count="all"), done.stderr.strip().splitlines()[-1:])
        return int(os.environ.get("AUDIT") == "required")
    # pip-audit calls a package that its service does not answer for "skipped", and is content.
    skipped = [package["name"] for package in packages if "skip_reason" in package]
    if len(skipped) == len(packages):
        print(SILENT.format(count=len(packages)))
        return int(os.environ.get("AUDIT") == "required")
    found = [
        f"{package['name']} {package['version']}: {hole['id']}, fixed in {hole['fix_versions'] or 'none'}"
        for package in packages
        for hole in package.get("vulns", [])
    ]
    for line in [*found, *(f"{name}: not audited" for name in skipped)]:
        print(line)
    if not found and not skipped:
        print(f"No known vulnerability in {len(packages)} packages.")
    return int(bool(found or skipped))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
