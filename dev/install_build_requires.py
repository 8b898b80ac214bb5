"""Install what a build in isolation would install, into the environment that runs this script."""

import subprocess
import sys
import tomllib
from importlib import import_module


def install(requirements: list[str]) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *requirements], check=True)


with open("pyproject.toml", "rb") as file:
    build_system = tomllib.load(file)["build-system"]
install(build_system["requires"])
install(import_module(build_system["build-backend"]).get_requires_for_build_wheel())
